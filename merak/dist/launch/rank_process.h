// A child process that cannot outlive its launcher: killed by the kernel when
// the launcher's thread ends, and by the destructor. It leads a process group
// of its own, so that what it starts ends with it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "merak/dist/launch/socket.h"

namespace merak::dist {

struct ProcessRequest {
  std::vector<std::string> command;      // looked up in PATH
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::vector<int> cores;                // empty: as the launcher
  std::vector<int> inherit;              // descriptors that stay open
};

struct ExitStatus {
  int code = 0;
  int signal = 0;  // 0: it exited by itself
};

// Standard output and error are the launcher's; standard input is empty.
// Not thread-safe. The thread that makes it must outlive it: the kernel ties
// the child to that thread.
class RankProcess {
 public:
  // A usage error if the program cannot be started.
  explicit RankProcess(const ProcessRequest& request);
  ~RankProcess();  // kills the group and waits
  RankProcess(RankProcess&& other) noexcept;
  RankProcess& operator=(RankProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // To the whole group; nothing if it has ended.
  void send(int signal) const;
  // Its end, once it has ended; the rest of its group is killed then.
  std::optional<ExitStatus> poll();
  bool running() const { return pid_ > 0 && !status_; }

  enum class State { kRunning, kStopped, kTraced };
  State state() const;  // as the kernel says; kTraced: a debugger holds it

 private:
  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
};

}  // namespace merak::dist
