#include "merak/dist/launch/rank_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& each : strings) {
    out.push_back(const_cast<char*>(each.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

struct CpuSet {
  explicit CpuSet(const std::vector<int>& cores) {
    int last = 0;
    for (const int core : cores) last = std::max(last, core);
    const auto count = static_cast<std::size_t>(last) + 1;
    bytes = CPU_ALLOC_SIZE(count);
    set.reset(CPU_ALLOC(count));
    CPU_ZERO_S(bytes, set.get());
    for (const int core : cores) {
      CPU_SET_S(static_cast<std::size_t>(core), bytes, set.get());
    }
  }
  struct Free {
    void operator()(cpu_set_t* each) const { CPU_FREE(each); }
  };
  std::unique_ptr<cpu_set_t, Free> set;
  std::size_t bytes = 0;
};

// Everything that the child needs, made before fork(): between fork and exec
// of a program with threads only async-signal-safe calls are allowed.
struct ChildPlan {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  const ProcessRequest* request;
  CpuSet cores;
  pid_t launcher;
  int report;  // pipe: errno if it fails
};

[[noreturn]] void run_child(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The launcher may have died before that.
  if (getppid() != plan.launcher) _exit(1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!plan.request->cores.empty()) {
    // It may be refused (a core went offline): the rank runs unpinned.
    sched_setaffinity(0, plan.cores.bytes, plan.cores.set.get());
  }
  const int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (empty >= 0) dup2(empty, STDIN_FILENO);
  for (const int fd : plan.request->inherit) fcntl(fd, F_SETFD, 0);
  execvpe(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t sent =
      write(plan.report, &error, sizeof error);
  _exit(127);
}

}  // namespace

RankProcess::RankProcess(const ProcessRequest& request) {
  MERAK_CHECK(!request.command.empty(), "no program");
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    fail_runtime("cannot make a pipe: {}", std::strerror(errno));
  }
  const FileDescriptor read_end(report[0]);
  FileDescriptor write_end(report[1]);
  const ChildPlan plan = {pointers(request.command),
                          pointers(request.environment),
                          &request,
                          CpuSet(request.cores),
                          getpid(),
                          write_end.get()};
  pid_ = fork();
  if (pid_ == 0) run_child(plan);
  if (pid_ < 0) {
    fail_runtime("cannot start a process: {}", std::strerror(errno));
  }
  setpgid(pid_, pid_);  // whoever comes first; the other finds it done
  write_end.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(read_end.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    fail_usage("cannot start '{}': {}", request.command.front(),
               std::strerror(error));
  }
}

RankProcess::~RankProcess() {
  if (!running()) return;
  send(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

void RankProcess::send(int signal) const {
  if (running()) kill(-pid_, signal);
}

std::optional<ExitStatus> RankProcess::poll() {
  if (!running()) return status_;
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, options) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  // Still a zombie, so the group's number cannot be anyone else's.
  kill(-pid_, SIGKILL);
  int raw = 0;
  waitpid(pid_, &raw, 0);
  status_ = WIFSIGNALED(raw) ? ExitStatus{0, WTERMSIG(raw)}
                             : ExitStatus{WEXITSTATUS(raw), 0};
  return status_;
}

RankProcess::State RankProcess::state() const {
  std::ifstream file(fmt::format("/proc/{}/status", pid_));
  bool stopped = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:\tT")) stopped = true;
    if (line.starts_with("TracerPid:\t")) {
      if (line != "TracerPid:\t0") return State::kTraced;
      break;
    }
  }
  return stopped ? State::kStopped : State::kRunning;
}

}  // namespace merak::dist
