// A rank that is killed or stopped in mid-run: the others end soon, somebody
// says who, where and at what, nothing is left behind, and the last checkpoint
// is sound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "e2e/run_folder.h"

namespace merak::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Long enough never to end by itself.
const Arguments kEndless = {"train.steps=100000", "parallel.pipeline=3",
                            "parallel.data=1", "checkpoint.keep=2"};

struct Fault {
  int rank;
  int signal;
};

class Faults : public ::testing::TestWithParam<Fault> {};

std::string name_of(const ::testing::TestParamInfo<Fault>& info) {
  return fmt::format("rank{}_signal{}", info.param.rank, info.param.signal);
}

bool has_checkpoint(const fs::path& run) {
  std::error_code none;
  for (const auto& item : fs::directory_iterator(run / "checkpoints", none)) {
    if (fs::exists(item.path() / "checkpoint.json")) return true;
  }
  return false;
}

TEST_P(Faults, EndTheRunAndSayWhere) {
  const RunFolder files;
  Program program(files.path(), files.train("a", kEndless));
  ASSERT_TRUE(
      wait_until([&] { return has_checkpoint(files.run("a")); }, seconds(60)))
      << program.errors();
  const pid_t victim = program.rank(GetParam().rank);
  ASSERT_NE(victim, 0);
  kill(victim, GetParam().signal);

  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NE(program.wait(seconds(60)), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15));
  const std::string label = fmt::format("pp{} dp0 tp0", GetParam().rank);
  EXPECT_THAT(program.errors(),
              AllOf(ContainsRegex("rank " + std::to_string(GetParam().rank)),
                    HasSubstr(label), ContainsRegex("at step [0-9]+")));
  EXPECT_TRUE(
      wait_until([&] { return program.descendants().empty(); }, seconds(5)));

  // Training goes on from what is there.
  Finished inspected;
  for (const auto& item :
       fs::directory_iterator(files.run("a") / "checkpoints")) {
    if (!fs::exists(item.path() / "checkpoint.json")) continue;
    inspected = run_merak(files.path(), {"inspect", item.path().string()});
    EXPECT_EQ(inspected.code, 0) << inspected.output;
  }
  Arguments resume = files.train("a", kEndless);
  Program again(files.path(), resume);
  EXPECT_TRUE(wait_until(
      [&] { return again.errors().find("resumed from") != std::string::npos; },
      seconds(60)))
      << again.errors();
}

INSTANTIATE_TEST_SUITE_P(Ranks, Faults,
                         ::testing::Values(Fault{0, SIGKILL}, Fault{1, SIGKILL},
                                           Fault{2, SIGKILL}, Fault{0, SIGSTOP},
                                           Fault{2, SIGSTOP}),
                         name_of);

TEST(Faults, FlightRecordersAreLeftInTheRunFolder) {
  const RunFolder files;
  Program program(files.path(), files.train("a", kEndless));
  ASSERT_TRUE(
      wait_until([&] { return files.steps("a").size() > 2; }, seconds(60)));
  kill(program.rank(1), SIGKILL);
  program.wait(seconds(60));
  for (const char* name : {"flight-0.json", "flight-2.json"}) {
    std::ifstream file(files.run("a") / name);
    ASSERT_TRUE(file) << name;
    const auto recorded = nlohmann::json::parse(file);
    std::set<std::string> kinds;
    for (const auto& entry : recorded.at("entries")) {
      kinds.insert(entry.at("kind"));
    }
    EXPECT_THAT(kinds, ::testing::IsSupersetOf(
                           {"action", "all_gather", "send", "receive"}))
        << name;
  }
}

TEST(Faults, AKilledLauncherLeavesNoRanks) {
  const RunFolder files;
  Program program(files.path(), files.train("a", kEndless));
  ASSERT_TRUE(
      wait_until([&] { return files.steps("a").size() > 2; }, seconds(60)));
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait(seconds(5)), 128 + SIGKILL);
  EXPECT_TRUE(
      wait_until([&] { return program.descendants().empty(); }, seconds(15)));
}

// An orderly end: the step in work is finished and saved.
TEST(Faults, TerminationSavesAndTheSameCommandGoesOn) {
  const RunFolder files;
  const Arguments set = {"train.steps=400", "parallel.pipeline=2",
                         "checkpoint.every=1000"};
  {
    Program program(files.path(), files.train("a", set));
    ASSERT_TRUE(
        wait_until([&] { return files.steps("a").size() > 5; }, seconds(60)));
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(seconds(60)), 128 + SIGTERM) << program.errors();
    EXPECT_THAT(program.output(), HasSubstr("stopped by signal 15"));
  }
  const auto before = files.steps("a");
  const int done = before.rbegin()->first + 1;
  Arguments more = set;
  more.push_back("train.steps=" + std::to_string(done + 2));
  more.push_back("lr_schedule.warmup_steps=2");
  const Finished finished = run_merak(files.path(), files.train("a", more));
  EXPECT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(finished.errors,
              HasSubstr(fmt::format("{} steps are done", done)));
  EXPECT_EQ(files.steps("a").size(), static_cast<std::size_t>(done) + 2);
}

}  // namespace
}  // namespace merak::testing
