#include "merak/dist/launch/rank_watch.h"

#include <gmock/gmock.h>

#include "merak/dist/launch/heartbeat_lines.h"

namespace merak::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const TimePoint kStart{seconds(1000)};

// Four ranks that have said hello and beat every half second until told not
// to.
class RankWatchTest : public testing::Test {
 protected:
  RankWatchTest() : RankWatchTest(WatchOptions{}) {}
  explicit RankWatchTest(const WatchOptions& options) : watch(0, 4, options) {
    for (int rank = 0; rank < 4; ++rank) {
      watch.hello(rank, "[pp" + std::to_string(rank) + "]", kStart);
    }
  }

  // Lets time pass; the verdict, if there is one, and `now` when it came.
  std::optional<Verdict> pass(milliseconds time, std::vector<int> beating) {
    for (const TimePoint end = now + time; now < end;) {
      now += milliseconds(100);
      for (const int rank : beating) {
        watch.beat(rank, {17, 17, 4, "forward of stage 1"}, now);
      }
      if (auto verdict = watch.check(now)) return verdict;
    }
    return std::nullopt;
  }

  RankWatch watch;
  TimePoint now = kStart;
};

TEST_F(RankWatchTest, HealthyRanksLiveForEver) {
  EXPECT_FALSE(pass(seconds(3600), {0, 1, 2, 3}));
}

TEST_F(RankWatchTest, NamesRankSignalStepMicroBatchAndAction) {
  pass(seconds(1), {0, 1, 2, 3});
  watch.exited(3, 0, 9, now);
  const auto verdict = pass(seconds(5), {0, 1, 2});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 3);
  EXPECT_EQ(verdict->exit_code, 137);
  EXPECT_EQ(verdict->line,
            "rank 3 [pp3] was killed by signal 9 at step 17, micro-batch 4, "
            "forward of stage 1; ending the other ranks");
  EXPECT_LE(now - kStart, seconds(2));
}

// Peers notice first; the origin is named all the same.
TEST_F(RankWatchTest, TheOriginIsNamedAndNotItsVictims) {
  pass(seconds(1), {0, 1, 2, 3});
  watch.failed(1, true, "connection reset by rank 2", now);
  watch.exited(1, 1, 0, now);
  EXPECT_FALSE(pass(milliseconds(200), {0, 2, 3}));
  watch.exited(0, 1, 0, now);  // unexplained
  EXPECT_FALSE(pass(milliseconds(100), {2, 3}));
  watch.exited(2, 0, 11, now);
  const auto verdict = pass(seconds(5), {3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 2);
  EXPECT_THAT(verdict->line, HasSubstr("signal 11"));
}

TEST_F(RankWatchTest, AReportSaysMoreThanTheExitAfterIt) {
  watch.failed(2, false, "the loss is NaN", now);
  watch.exited(2, 7, 0, now);
  const auto verdict = pass(seconds(5), {0, 1, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exit_code, 7);
  EXPECT_EQ(verdict->line,
            "rank 2 [pp2] failed before its first step: the loss is NaN; "
            "ending the other ranks");
}

TEST_F(RankWatchTest, VictimsAloneAreNamedInTheEnd) {
  watch.failed(1, true, "connection reset", now);
  const auto verdict = pass(seconds(5), {0, 2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 1);
  EXPECT_GE(now - kStart, milliseconds(1500));
}

TEST_F(RankWatchTest, SilenceIsNoticedAfterEightSeconds) {
  pass(seconds(2), {0, 1, 2, 3});
  const TimePoint silent_since = now;
  const auto verdict = pass(seconds(20), {0, 2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 1);
  EXPECT_THAT(verdict->line, HasSubstr("no heartbeat for 8 s at step 17"));
  EXPECT_GE(now - silent_since, seconds(8));
  EXPECT_LT(now - silent_since, seconds(9));
}

TEST_F(RankWatchTest, AStoppedProcessIsNoticedSooner) {
  watch.set_stopped(1, true, now);
  const auto verdict = pass(seconds(20), {0, 2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 1);
  EXPECT_THAT(verdict->line, HasSubstr("stopped"));
  EXPECT_LT(now - kStart, seconds(4));
}

TEST_F(RankWatchTest, AShortStopIsForgiven) {
  watch.set_stopped(1, true, now);
  EXPECT_FALSE(pass(seconds(2), {0, 2, 3}));
  watch.set_stopped(1, false, now);
  EXPECT_FALSE(pass(seconds(20), {0, 1, 2, 3}));
}

TEST_F(RankWatchTest, ADebuggerMayHoldARank) {
  for (int i = 0; i < 600; ++i) {
    EXPECT_FALSE(pass(milliseconds(100), {0, 2, 3}));
    watch.alive(1, now);
  }
}

// The watcher itself was stopped for a minute.
TEST_F(RankWatchTest, AStoppedWatcherBlamesNobody) {
  pass(seconds(1), {0, 1, 2, 3});
  now += seconds(60);
  EXPECT_FALSE(watch.check(now));
  EXPECT_FALSE(pass(seconds(20), {0, 1, 2, 3}));
}

TEST_F(RankWatchTest, GoodbyeMakesAnEndOrderly) {
  watch.goodbye(1);
  watch.disconnected(1, now);
  watch.exited(1, 0, 0, now);
  EXPECT_FALSE(pass(seconds(60), {0, 2, 3}));
  EXPECT_FALSE(watch.suspicious());
}

TEST_F(RankWatchTest, ExitZeroWithoutGoodbyeIsAFailure) {
  watch.exited(1, 0, 0, now);
  EXPECT_TRUE(watch.suspicious());
  const auto verdict = pass(seconds(5), {0, 2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exit_code, 1);
  EXPECT_THAT(verdict->line, HasSubstr("before the run was over"));
}

TEST_F(RankWatchTest, ALostConnectionIsALostRank) {
  watch.disconnected(2, now);
  const auto verdict = pass(seconds(5), {0, 1, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 2);
  EXPECT_THAT(verdict->line, HasSubstr("was lost"));
}

// A program that knows nothing of heartbeats.
TEST(RankWatch, StrangersAreJudgedByTheirExit) {
  RankWatch watch(4, 2, {});
  TimePoint now = kStart;
  for (int i = 0; i < 600; ++i) {
    EXPECT_FALSE(watch.check(now));
    now += milliseconds(500);
  }
  watch.exited(4, 0, 0, now);
  EXPECT_FALSE(watch.suspicious());
  watch.exited(5, 3, 0, now);
  EXPECT_FALSE(watch.check(now));
  const auto verdict = watch.check(now + milliseconds(500));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->line, "rank 5 exited with code 3; ending the other ranks");
}

TEST(RankWatch, AStandstillNamesTheRankThatStoodFirst) {
  WatchOptions options;
  options.no_progress = seconds(30);
  RankWatch watch(0, 2, options);
  watch.hello(0, "", kStart);
  watch.hello(1, "", kStart);
  std::optional<Verdict> verdict;
  TimePoint now = kStart;
  for (; !verdict && now < kStart + seconds(60); now += milliseconds(500)) {
    const auto moved = [&](seconds last) {
      return std::min(now - kStart, std::chrono::nanoseconds(last)).count();
    };
    watch.beat(0, {moved(seconds(12)), 3, 0, "receive"}, now);
    watch.beat(1, {moved(seconds(10)), 3, 1, "forward of stage 1"}, now);
    verdict = watch.check(now);
  }
  ASSERT_TRUE(verdict);
  EXPECT_THAT(verdict->line, HasSubstr("rank 1 has made no progress"));
  EXPECT_THAT(verdict->line, HasSubstr("step 3, micro-batch 1, forward"));
  EXPECT_GE(now - kStart, seconds(42));
}

TEST(HeartbeatLines, ProgressSurvivesTheWire) {
  for (const Progress& progress :
       {Progress{}, Progress{12, 3, -1, ""},
        Progress{1L << 60, 0, 7, "reduce gradients of h.0  (bucket 2)"}}) {
    EXPECT_EQ(parse_progress(to_text(progress)), progress);
  }
  for (const char* bad : {"", "1", "1 2", "1 2 x", "1  2 3 a"}) {
    EXPECT_EQ(parse_progress(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace merak::dist
