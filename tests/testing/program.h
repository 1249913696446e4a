// The program `merak` as users start it, with a watchdog.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace merak::testing {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

// A started program; its end is the end of all that it started.
class Program {
 public:
  // Output goes to files in `folder`. The environment is this process's, less
  // what a launcher may have set, plus `environment`.
  Program(const std::filesystem::path& folder, const Arguments& arguments,
          const Environment& environment = {});
  // Kills what still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  // Exit code, 128 + n for signal n; fails the test and returns -1 when the
  // time is over.
  int wait(std::chrono::seconds limit);
  void signal(int number) const;

  std::string output() const;  // so far
  std::string errors() const;

  // Processes in its session that are alive.
  std::vector<pid_t> descendants() const;
  // Of those the one with RANK=rank in its environment; 0: none.
  pid_t rank(int rank) const;

 private:
  std::filesystem::path output_, errors_;
  pid_t pid_ = 0;
  int code_ = -1;
  bool ended_ = false;
};

struct Finished {
  int code = 0;
  std::string output, errors;
};
Finished run_merak(const std::filesystem::path& folder,
                   const Arguments& arguments,
                   const Environment& environment = {});

// Until `condition` holds; false when the time is over.
bool wait_until(const std::function<bool()>& condition,
                std::chrono::seconds limit);

}  // namespace merak::testing
