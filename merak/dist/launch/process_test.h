// A fixture for tests that start test_program: a fresh folder, a watchdog, and
// nothing left behind.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/dist/launch/rank_group.h"
#include "merak/dist/launch/rank_process.h"

namespace merak::dist {

class ProcessTest : public testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;

  ProcessTest() {
    std::string pattern = testing::TempDir() + "merak-launch-XXXXXX";
    MERAK_CHECK(mkdtemp(pattern.data()) != nullptr, "{}", pattern);
    folder = pattern;
    // Orphans come to us, so that a dead one does not stay as a zombie.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~ProcessTest() override {
    processes.clear();
    for (const pid_t pid : pids_seen()) {
      if (alive(pid)) kill(pid, SIGKILL);
    }
    std::filesystem::remove_all(folder);
  }

  RankProcess& start(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment = {}) {
    ProcessRequest request;
    request.command = {MERAK_TEST_PROGRAM};
    request.command.insert(request.command.end(), arguments.begin(),
                           arguments.end());
    request.environment = merged_environment(environment);
    processes.push_back(std::make_unique<RankProcess>(request));
    return *processes.back();
  }

  // Waits for something, with a watchdog.
  template <typename F>
  [[nodiscard]] bool within(std::chrono::seconds limit, F&& condition) {
    const Clock::time_point end = Clock::now() + limit;
    while (!condition()) {
      if (Clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  // The exit code, or 128 + its signal; -1 if it goes on for too long.
  int exit_of(RankProcess& process, std::chrono::seconds limit) {
    if (!within(limit, [&] { return process.poll().has_value(); })) return -1;
    const ExitStatus status = *process.poll();
    return status.signal != 0 ? 128 + status.signal : status.code;
  }

  bool has(const std::string& name) const {
    return std::filesystem::exists(folder / name);
  }
  std::string content(const std::string& name) const {
    return has(name) ? read_file(folder / name) : "";
  }

  // Ranks write their process numbers when they start.
  pid_t pid_of(int rank, int restart = 0) {
    const std::string name =
        "pid-" + std::to_string(restart) + "-" + std::to_string(rank);
    EXPECT_TRUE(within(std::chrono::seconds(30), [&] { return has(name); }))
        << name;
    return std::atoi(content(name).c_str());
  }
  std::vector<pid_t> pids_seen() const {
    std::vector<pid_t> pids;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with("pid-")) {
        pids.push_back(std::atoi(read_file(entry.path()).c_str()));
      }
    }
    return pids;
  }
  // Zombies are dead.
  static bool alive(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text(std::istreambuf_iterator<char>(file), {});
    const std::size_t end = text.rfind(')');
    return end != std::string::npos && text[end + 2] != 'Z' &&
           text[end + 2] != 'X';
  }
  bool none_alive() const {
    for (const pid_t pid : pids_seen()) {
      if (alive(pid)) return false;
    }
    return true;
  }

  std::filesystem::path folder;
  std::vector<std::unique_ptr<RankProcess>> processes;
};

}  // namespace merak::dist
