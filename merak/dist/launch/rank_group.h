// The local ranks of one attempt: started together, watched, ended together.
// Owned and used by one thread, that of launch(); nothing here blocks but
// end().
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merak/dist/launch/rank_process.h"
#include "merak/dist/launch/rank_watch.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

struct GroupRequest {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value", over this process's
  int local_ranks = 1;
  int first_rank = 0;  // of the local ones, in the world
  int world_size = 1;
  int node_rank = 0;
  std::string host;  // of the rendezvous
  int port = 0;
  int restart = 0;
  int max_restarts = 0;
  FileDescriptor listener;  // for rank 0, or none
  WatchOptions watch;
};

class RankGroup {
 public:
  explicit RankGroup(GroupRequest request);

  void add_to_poll(std::vector<pollfd>& entries) const;
  // Takes in heartbeats, exits and process states.
  void service(TimePoint now);
  std::optional<Verdict> check(TimePoint now) { return watch_.check(now); }
  bool running() const;
  // Something is wrong that check() will tell of soon.
  bool suspicious() const { return watch_.suspicious(); }
  // Of the ranks that have ended: the first that was not 0, in order of time.
  int exit_code() const { return exit_code_; }

  void forward(int signal) const;
  // Tells all why, so that they end themselves; SIGTERM after a third of the
  // grace (at once to ranks that never said hello), SIGKILL after all of it.
  // Stopped ranks are killed at once: they cannot do anything else. Returns
  // when all are gone.
  void end(const std::string& line, std::chrono::milliseconds grace);

 private:
  struct Member {
    int rank;
    RankProcess process;
    LineSocket socket;
    bool listens = false;    // said hello
    bool accounted = false;  // its exit was told to the watch
  };

  std::vector<std::string> environment_of(const GroupRequest& request,
                                          int local_rank, std::size_t threads,
                                          int heartbeat_fd) const;
  void read(Member& member, TimePoint now);

  RankWatch watch_;
  std::vector<Member> members_;
  TimePoint looked_at_states_;
  int exit_code_ = 0;
};

// The environment of this process with some variables set, and the ones of our
// launchers removed.
std::vector<std::string> merged_environment(
    const std::vector<std::string>& settings);

}  // namespace merak::dist
