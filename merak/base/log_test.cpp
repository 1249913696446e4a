#include "merak/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/str.h"

namespace merak {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "merak-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::unsetenv("MERAK_LOG");
  }
  void TearDown() override {
    ::unsetenv("MERAK_LOG");
    fs::remove_all(folder_);
  }

  LogOptions options(std::string prefix = "") const {
    LogOptions result;
    result.prefix = std::move(prefix);
    result.file = folder_ / "merak.log";
    result.to_stderr = false;
    return result;
  }
  std::string log() const { return read_file(folder_ / "merak.log"); }

  fs::path folder_;
};

TEST_F(LogTest, PrefixAndLevelOfEachLine) {
  auto logger = make_logger(options(rank_prefix(0, 2, 1)));
  logger->info("step {}", 3);
  logger->debug("hidden");
  EXPECT_THAT(log(), ::testing::MatchesRegex(
                         "..:..:..\\.... info \\[pp0 dp2 tp1\\] step 3\n"));
}

TEST_F(LogTest, APercentSignInThePrefixIsItself) {
  make_logger(options("100%v"))->info("x");
  EXPECT_THAT(log(), HasSubstr("info 100%v x\n"));
}

TEST_F(LogTest, TheCallerOutranksTheEnvironment) {
  ::setenv("MERAK_LOG", "error", 1);
  make_logger(options())->warn("hidden");
  LogOptions chosen = options();
  chosen.level = "debug";
  make_logger(chosen)->debug("seen");
  EXPECT_THAT(log(), ::testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(log(), HasSubstr("seen"));
}

TEST_F(LogTest, UnknownLevelNamesTheKnownOnes) {
  ::setenv("MERAK_LOG", "loud", 1);
  try {
    make_logger(options());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("MERAK_LOG is \"loud\""));
    EXPECT_THAT(error.what(), HasSubstr("debug, info"));
  }
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsARuntimeError) {
  LogOptions bad = options();
  bad.file = folder_ / "none" / "merak.log";
  try {
    make_logger(bad);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_THAT(error.what(), HasSubstr("merak.log"));
  }
}

// Four processes, lines of odd lengths past a block's size: none may be torn.
TEST_F(LogTest, ProcessesShareAFile) {
  constexpr int kRanks = 4;
  constexpr int kLines = 200;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(30);  // watchdog
      auto logger = make_logger(options(rank_prefix(rank, 0, 0)));
      for (int line = 0; line < kLines; ++line) {
        logger->info("{} {}", line,
                     std::string(static_cast<std::size_t>(line) * 7,
                                 static_cast<char>('a' + rank)));
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::map<std::string, int> seen;
  auto lines = split(log(), '\n');
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  for (const std::string& line : lines) {
    const auto words = split(line, ' ');
    ASSERT_EQ(words.size(), 7u) << line;
    const int expected = seen[words[2]]++;
    EXPECT_EQ(words[5], std::to_string(expected));
    EXPECT_EQ(words[6].size(), static_cast<std::size_t>(expected) * 7);
    EXPECT_EQ(words[6].find_first_not_of(
                  static_cast<char>('a' + (words[2][3] - '0'))),
              std::string::npos);
  }
  for (const auto& [prefix, count] : seen) EXPECT_EQ(count, kLines);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kRanks));
}

}  // namespace
}  // namespace merak
