#include "merak/dist/launch/monitor.h"

#include <gmock/gmock.h>

#include "merak/dist/launch/heartbeat.h"
#include "merak/dist/launch/process_test.h"

namespace merak::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class MonitorTest : public ProcessTest {
 protected:
  void start_ranks(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      start({"watched", std::to_string(rank), std::to_string(ranks),
             folder.string()});
    }
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(within(
          seconds(30), [&] { return has(fmt::format("attached-{}", rank)); }));
    }
    std::this_thread::sleep_for(milliseconds(1200));
  }
  void expect_all_end_but(int lost, const std::string& line) {
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == lost) continue;
      EXPECT_EQ(
          exit_of(*processes[static_cast<std::size_t>(rank)], seconds(15)), 3)
          << rank;
      EXPECT_THAT(content(fmt::format("end-{}", rank)), HasSubstr(line));
    }
  }
};

TEST_F(MonitorTest, AKilledRankEndsAll) {
  start_ranks(4);
  processes[2]->send(SIGKILL);
  expect_all_end_but(2, "rank 2 [pp2 dp0 tp0] was lost");
  EXPECT_THAT(content("end-0"),
              AllOf(HasSubstr("micro-batch"), HasSubstr("forward of stage 2")));
}

TEST_F(MonitorTest, AStoppedRankEndsTheOthers) {
  start_ranks(4);
  processes[3]->send(SIGSTOP);
  expect_all_end_but(3, "rank 3 [pp3 dp0 tp0] has sent no heartbeat");
}

TEST_F(MonitorTest, TheHostKilledEndsTheOthers) {
  start_ranks(4);
  processes[0]->send(SIGKILL);
  expect_all_end_but(0, "rank 0, which watches the run, was lost");
  EXPECT_THAT(content("end-1"), HasSubstr("forward of stage 0"));
}

TEST_F(MonitorTest, TheHostStoppedEndsTheOthers) {
  start_ranks(4);
  processes[0]->send(SIGSTOP);
  expect_all_end_but(0, "rank 0, which watches the run, has sent no heartbeat");
}

// Ranks as objects of this process.
class Ends {
 public:
  HeartbeatOptions options(int rank) {
    HeartbeatOptions options;
    options.rank = rank;
    options.label = "[]";
    options.on_end = [this, rank](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_[static_cast<std::size_t>(rank)] = line;
    };
    return options;
  }
  std::string of(int rank) {
    const std::lock_guard lock(mutex_);
    return lines_[static_cast<std::size_t>(rank)];
  }

 private:
  std::mutex mutex_;
  std::array<std::string, 3> lines_;
};

class InProcessMonitorTest : public ProcessTest {
 protected:
  void attach(Heartbeat& heartbeat, const Monitor& monitor) {
    heartbeat.attach_monitor("127.0.0.1", monitor.port(), monitor.token(),
                             milliseconds(10000));
  }
};

TEST_F(InProcessMonitorTest, AnOrderlyEndIsQuiet) {
  Ends ends;
  auto monitor = std::make_unique<Monitor>(2, "127.0.0.1", WatchOptions{});
  Heartbeat zero(ends.options(0));
  auto one = std::make_unique<Heartbeat>(ends.options(1));
  attach(zero, *monitor);
  attach(*one, *monitor);
  std::this_thread::sleep_for(milliseconds(600));
  one->finish();
  one.reset();
  std::this_thread::sleep_for(milliseconds(1000));
  monitor.reset();
  std::this_thread::sleep_for(milliseconds(600));
  EXPECT_EQ(ends.of(0), "");
  EXPECT_EQ(ends.of(1), "");
}

TEST_F(InProcessMonitorTest, AReportedFailureReachesAll) {
  Ends ends;
  Monitor monitor(2, "127.0.0.1", {});
  Heartbeat zero(ends.options(0));
  Heartbeat one(ends.options(1));
  attach(zero, monitor);
  attach(one, monitor);
  one.set_progress(5, -1, "optimizer step");
  one.fail("disk full\nreally", false);
  EXPECT_TRUE(within(seconds(10), [&] { return !ends.of(0).empty(); }));
  EXPECT_EQ(ends.of(0),
            "rank 1 [] failed at step 5, optimizer step: disk full really; "
            "ending the other ranks");
}

TEST_F(InProcessMonitorTest, StrangersAreSentAway) {
  Ends ends;
  Monitor monitor(2, "127.0.0.1", {});
  Heartbeat zero(ends.options(0));
  attach(zero, monitor);
  for (const std::string& line :
       {std::string("GET / HTTP/1.1"), std::string("hello 1 1 wrong []"),
        fmt::format("hello 2 1 {} []", monitor.token()),
        fmt::format("hello x 1 {} []", monitor.token()),
        std::string(100000, 'x')}) {
    LineSocket stranger(
        connect_tcp("127.0.0.1", monitor.port(), milliseconds(5000)));
    stranger.send(line);
    EXPECT_TRUE(within(seconds(10), [&] {
      stranger.flush();
      stranger.read_lines();
      return !stranger.open();
    }));
  }
  EXPECT_EQ(ends.of(0), "");
}

TEST_F(InProcessMonitorTest, AMissingLauncherSocketIsReported) {
  Ends ends;
  Heartbeat heartbeat(ends.options(0));
  EXPECT_FALSE(heartbeat.attach_launcher(-1));
  EXPECT_FALSE(heartbeat.attach_launcher(123456));
}

}  // namespace
}  // namespace merak::dist
