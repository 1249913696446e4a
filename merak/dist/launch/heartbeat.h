// The rank's side of the watch: a thread of its own tells a monitor, at least
// twice a second, which step, micro-batch and action the rank is in; and
// learns from it when the run must end.
//
//   Heartbeat heartbeat({.rank = 3, .label = "[pp1 dp1 tp0]", .on_end = end});
//   heartbeat.attach_launcher(environment.heartbeat_fd);
//   heartbeat.set_progress(17, 4, "forward of stage 1");  // before each action
//   heartbeat.finish();
//
// The monitor is the launcher (RankGroup, over an inherited socket) or the one
// that rank 0 hosts (Monitor, over TCP), or both. The protocol is lines of
// text, of the rank
//   hello RANK PID TOKEN LABEL
//   beat SEQUENCE STEP MICRO_BATCH ACTION
//   fail own|peer REASON
//   bye
// and of the monitor
//   ok SEQUENCE STEP MICRO_BATCH ACTION   (TCP: alive; what rank 0 is doing)
//   end LINE                              (the run is over, because)
//   closing                               (the end of the stream is no loss)
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "merak/dist/launch/rank_watch.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

struct HeartbeatOptions {
  int rank = 0;
  std::string label;
  // Called once, from the heartbeat's thread, when the run must end: the
  // monitor says so, or is gone. It should write out what it can in a second
  // and end the process with _exit: other threads may hang in communication.
  std::function<void(const std::string& line)> on_end;
  std::chrono::milliseconds period{400};
  std::chrono::milliseconds monitor_silence{8000};  // TCP monitors only
};

class Heartbeat {
 public:
  explicit Heartbeat(HeartbeatOptions options);
  // Stops the thread; says goodbye only if finish() was called.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // The socket that the launcher left open. False if it is not there any more
  // (a wrapper closed it): the launcher then sees only how the rank exits.
  bool attach_launcher(int fd);
  // A monitor over TCP (Monitor); `token` as it told.
  void attach_monitor(const std::string& host, int port,
                      const std::string& token,
                      std::chrono::milliseconds timeout);

  // Any thread; cheap enough for every action. A new step is told at once, the
  // rest with the next beat. -1: see Progress.
  void set_progress(std::int64_t step, std::int64_t micro_batch,
                    std::string_view action);
  Progress progress() const;

  // Reports that this rank fails, and waits until it is sent: before the
  // process ends. `because_of_peer`: a communicator or store lost another rank.
  void fail(const std::string& reason, bool because_of_peer);
  // The rank is done in order: its end is no failure, and on_end is not called
  // any more.
  void finish();

 private:
  struct Peer {
    LineSocket socket;
    bool must_answer = false;
    bool closing = false;
    TimePoint heard;
    Progress host_progress;  // of rank 0, where it hosts the monitor
  };

  void attach(FileDescriptor fd, bool must_answer, const std::string& token);
  void wake();
  void run();
  void wait_for_input(std::vector<pollfd>& entries);
  void send_beats();
  // What to tell on_end, or nothing.
  std::string read_peers();
  std::string read_peer(Peer& peer, TimePoint now) const;

  HeartbeatOptions options_;
  FileDescriptor wake_read_, wake_write_;
  mutable std::mutex mutex_;
  Progress progress_;
  std::vector<Peer> peers_;
  bool stop_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace merak::dist
