#include "testing/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "merak/base/error.h"

namespace merak::testing {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

int open_new(const fs::path& file) {
  return open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0644);
}

// What torchrun, Slurm or this test's own parent would be taken for.
bool from_a_launcher(const std::string& name) {
  for (const char* prefix :
       {"RANK", "WORLD_SIZE", "LOCAL_", "GROUP_", "MASTER_", "SLURM_", "OMPI_",
        "MERAK_", "TORCHELASTIC_"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

std::vector<std::string> environment_with(const Environment& extra) {
  std::vector<std::string> list;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (!from_a_launcher(name) && extra.count(name) == 0) list.push_back(text);
  }
  for (const auto& [name, value] : extra) list.push_back(name + "=" + value);
  return list;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// Fields 3 and 6 of /proc/PID/stat: state and session.
bool lives_in_session(pid_t pid, pid_t session) {
  const std::string stat =
      contents(fs::path("/proc") / std::to_string(pid) / "stat");
  const std::size_t behind_name = stat.rfind(')');
  if (behind_name == std::string::npos) return false;
  std::istringstream fields(stat.substr(behind_name + 1));
  char state = 0;
  long parent = 0, group = 0, its_session = 0;
  fields >> state >> parent >> group >> its_session;
  return its_session == session && state != 'Z';
}

}  // namespace

Program::Program(const fs::path& folder, const Arguments& arguments,
                 const Environment& environment)
    : output_(folder / "output.txt"), errors_(folder / "errors.txt") {
  std::vector<std::string> command = {MERAK_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(environment);
  const auto argv = pointers(command), envp = pointers(variables);
  const int out = open_new(output_), err = open_new(errors_);
  pid_ = fork();
  if (pid_ == 0) {
    setsid();
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(out);
  close(err);
}

Program::~Program() {
  for (const pid_t pid : descendants()) kill(pid, SIGKILL);
  if (!ended_) waitpid(pid_, nullptr, 0);
}

int Program::wait(std::chrono::seconds limit) {
  const bool in_time = wait_until(
      [this] {
        int status = 0;
        if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) {
          ended_ = true;
          code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                      : WEXITSTATUS(status);
        }
        return ended_;
      },
      limit);
  if (!in_time) {
    ADD_FAILURE() << "merak did not end within " << limit.count() << " s\n"
                  << errors();
    return -1;
  }
  return code_;
}

void Program::signal(int number) const { kill(pid_, number); }
std::string Program::output() const { return contents(output_); }
std::string Program::errors() const { return contents(errors_); }

std::vector<pid_t> Program::descendants() const {
  std::vector<pid_t> list;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (lives_in_session(pid, pid_)) list.push_back(pid);
  }
  return list;
}

pid_t Program::rank(int rank) const {
  const std::string wanted = fmt::format("RANK={}", rank);
  for (const pid_t pid : descendants()) {
    const std::string variables =
        contents(fs::path("/proc") / std::to_string(pid) / "environ");
    std::istringstream entries(variables);
    std::string entry;
    while (std::getline(entries, entry, '\0')) {
      if (entry == wanted) return pid;
    }
  }
  return 0;
}

Finished run_merak(const fs::path& folder, const Arguments& arguments,
                   const Environment& environment) {
  Program program(folder, arguments, environment);
  const int code = program.wait(std::chrono::seconds(120));
  return {code, program.output(), program.errors()};
}

bool wait_until(const std::function<bool()>& condition,
                std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace merak::testing
