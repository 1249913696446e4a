// The program from outside: exit codes, and what goes to which stream.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "merak/base/str.h"
#include "merak/cli/app.h"
#include "merak/cli/command_table.h"

namespace merak::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

// Reads both pipes to their ends; kills the child if that takes a minute.
void drain(pid_t child, int out, int err, Result& result) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::array<pollfd, 2> pipes = {pollfd{out, POLLIN, 0},
                                 pollfd{err, POLLIN, 0}};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(child, SIGKILL);
    ::poll(pipes.data(), pipes.size(), 1000);
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      std::array<char, 4096> block{};
      const ssize_t n = ::read(pipes[i].fd, block.data(), block.size());
      std::string& text = i == 0 ? result.out : result.err;
      if (n > 0) text.append(block.data(), static_cast<std::size_t>(n));
      if (n == 0) pipes[i].fd = -1;
    }
  }
}

// `out_path`: a file for standard output instead of a pipe.
Result merak(std::vector<std::string> arguments,
             const char* out_path = nullptr) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(err.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (out_path != nullptr) {
    ::posix_spawn_file_actions_addopen(&actions, 1, out_path, O_WRONLY, 0);
  } else {
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  }
  ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  arguments.insert(arguments.begin(), MERAK_PROGRAM);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, MERAK_PROGRAM, &actions, nullptr, argv.data(),
                          environ),
            0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  Result result;
  drain(child, out[0], err[0], result);
  ::close(out[0]);
  ::close(err[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result;
}

// A usage error: exit code 2, nothing on standard output, one line that holds
// `part`.
void expect_usage_error(const std::vector<std::string>& arguments,
                        const std::string& part) {
  const Result result = merak(arguments);
  EXPECT_EQ(result.code, 2) << part;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("merak: error: "));
  EXPECT_THAT(result.err, HasSubstr(part));
  EXPECT_EQ(split(result.err, '\n').size(), 2u) << result.err;
}

TEST(Cli, HelpAndVersionAreResults) {
  const Result help = merak({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  for (const Command& command : commands()) {
    EXPECT_THAT(help.out, HasSubstr(command.name));
    for (const char* flag : {"--help", "--version"}) {
      const Result result = merak({command.name, flag});
      EXPECT_EQ(result.code, 0) << command.name << flag;
      EXPECT_NE(result.out, "") << command.name << flag;
      EXPECT_EQ(result.err, "") << command.name << flag;
    }
  }
  EXPECT_THAT(merak({"--version"}).out, StartsWith("merak 0."));
}

TEST(Cli, WrongUse) {
  expect_usage_error({}, "a command is missing");
  expect_usage_error({"trian"}, "unknown command trian; did you mean train?");
  expect_usage_error({"xyz"}, "commands are train, launch");
  expect_usage_error({"--jso"}, "see merak --help");
  expect_usage_error({"train"}, "CONFIG is required");
  expect_usage_error({"train", "a.toml", "--rank", "2"},
                     "train has no option --rank; did you mean --ranks?");
  expect_usage_error({"train", "a.toml", "b.toml"},
                     "train does not take the argument b.toml");
  expect_usage_error({"train", "a.toml", "--ranks", "0"}, "at least 1");
  expect_usage_error({"train", "a.toml", "--ranks", "two"}, "at least 1");
  expect_usage_error({"train", "a.toml", "--set"}, "--set");
  expect_usage_error({"generate", "x", "--prompt", "p", "--top-p", "1.5"},
                     "from 0 to 1");
  expect_usage_error({"trace", "a.toml", "--level", "node"}, "--level");
}

TEST(Cli, WhatIsPlannedSaysSo) {
  expect_usage_error({"plan", "a.toml", "--cluster", "c.toml"},
                     "merak plan is not supported yet");
  expect_usage_error({"simulate", "a.toml", "--cluster", "c.toml"},
                     "merak simulate is not supported yet");
  expect_usage_error({"report", "runs/a", "-o", "a.html"},
                     "merak report is not supported yet");
}

TEST(Cli, DoctorPrintsTextAndJson) {
  const Result text = merak({"doctor"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("cores"));
  const Result json = merak({"doctor", "--json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_GE(nlohmann::json::parse(json.out).at("findings").size(), 9u);
}

TEST(Cli, AFullDiskIsNoSuccess) {
  for (const auto& arguments :
       {std::vector<std::string>{"doctor"}, {"--help"}, {"--version"}}) {
    const Result result = merak(arguments, "/dev/full");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("cannot write to standard output: No "
                                      "space left on device"));
  }
}

TEST(Cli, LaunchStartsRanksAndPassesTheirCodeOn) {
  const Result fine = merak({"launch", "-n", "3", "--", "sh", "-c",
                             "echo rank $RANK of $WORLD_SIZE"});
  EXPECT_EQ(fine.code, 0) << fine.err;
  for (const char* rank : {"rank 0 of 3", "rank 1 of 3", "rank 2 of 3"}) {
    EXPECT_THAT(fine.out, HasSubstr(rank));
  }
  EXPECT_EQ(merak({"launch", "-n", "2", "--", "sh", "-c", "exit 7"}).code, 7);
  expect_usage_error({"launch", "-n", "2"}, "PROGRAM");
  expect_usage_error({"launch", "--", "true"}, "--ranks is required");
}

TEST(Cli, LaunchGivesTheProgramItsOptions) {
  const Result result =
      merak({"launch", "-n", "1", "--", "echo", "-n", "--ranks", "--", "x"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "--ranks -- x");
}

TEST(Cli, TokenizeWritesAPair) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "merak-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/a.txt") << "hello";
  const Result result = merak({"tokenize", "--tokenizer", "bytes", "--output",
                               folder + "/out", folder + "/a.txt", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("tokens"), 5);
  EXPECT_TRUE(fs::exists(folder + "/out.bin"));
  EXPECT_TRUE(fs::exists(folder + "/out.idx"));
  expect_usage_error({"tokenize", "--tokenizer", "bytes", "--output",
                      folder + "/out", folder + "/none.txt"},
                     "none.txt");
  fs::remove_all(folder);
}

TEST(Errors, HaveOneLineAndACode) {
  EXPECT_EQ(error_line("a\nb\r\nc\n"), "merak: error: a b  c\n");
  EXPECT_EQ(exit_code(ErrorKind::kUsage), 2);
  EXPECT_EQ(exit_code(ErrorKind::kRuntime), 1);
  EXPECT_EQ(exit_code(ErrorKind::kNoPlan), 3);
  EXPECT_EQ(exit_code(ErrorKind::kInternal), 1);
}

}  // namespace
}  // namespace merak::cli
