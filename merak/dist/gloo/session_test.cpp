#include "merak/dist/gloo/session.h"

#include <gmock/gmock.h>

#include "merak/dist/launch/process_test.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class SessionTest : public ProcessTest {
 protected:
  // Ranks as torchrun would start them; some may be left out.
  void start_as_torchrun(int world, const std::vector<int>& ranks,
                         const std::string& mode) {
    int port = 0;
    {
      const Listener free = listen_tcp("127.0.0.1", 0);
      port = free.port;
    }
    for (const int rank : ranks) {
      start({"rank", mode, folder.string()},
            {fmt::format("RANK={}", rank), fmt::format("LOCAL_RANK={}", rank),
             fmt::format("WORLD_SIZE={}", world),
             fmt::format("LOCAL_WORLD_SIZE={}", world), "MASTER_ADDR=127.0.0.1",
             fmt::format("MASTER_PORT={}", port)});
    }
  }
  void wait_until_running(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(within(seconds(60),
                         [&] { return has(fmt::format("watcher-{}", rank)); }));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  }
};

TEST_F(SessionTest, RunsUnderOurLauncher) {
  EXPECT_EQ(
      exit_of(start({"launch", "3", "reduce", folder.string()}), seconds(100)),
      0);
  EXPECT_EQ(content("watcher-2"), "the launcher");
  EXPECT_EQ(content("messages-0"), "");
}

TEST_F(SessionTest, RunsUnderTorchrunsEnvironment) {
  start_as_torchrun(3, {0, 1, 2}, "reduce");
  for (const auto& process : processes) {
    EXPECT_EQ(exit_of(*process, seconds(100)), 0);
  }
  EXPECT_EQ(content("watcher-2"), "rank 0");
}

TEST_F(SessionTest, RunsAlone) {
  EXPECT_EQ(exit_of(start({"rank", "reduce", folder.string()}), seconds(60)),
            0);
  EXPECT_EQ(content("watcher-0"), "nobody");
}

// The others are inside a reduction with the lost rank.
TEST_F(SessionTest, AKilledRankIsNamedThoughItsPeersFailFirst) {
  RankProcess& launcher = start({"launch", "3", "train", folder.string()});
  wait_until_running(3);
  kill(pid_of(1), SIGKILL);
  EXPECT_EQ(exit_of(launcher, seconds(15)), 137);
  EXPECT_TRUE(none_alive());
  EXPECT_THAT(content("messages-0"),
              AllOf(HasSubstr("rank 1 [pp0 dp1 tp0] was killed by signal 9"),
                    HasSubstr("reduce gradients")));
}

TEST_F(SessionTest, AStoppedRankIsNamed) {
  RankProcess& launcher = start({"launch", "3", "train", folder.string()});
  wait_until_running(3);
  kill(pid_of(2), SIGSTOP);
  EXPECT_EQ(exit_of(launcher, seconds(15)), 1);
  EXPECT_TRUE(none_alive());
  EXPECT_THAT(content("messages-0"), HasSubstr("rank 2 [pp0 dp2 tp0] has been "
                                               "stopped"));
}

TEST_F(SessionTest, UnderAnotherLauncherRankZeroNamesTheKilled) {
  start_as_torchrun(3, {0, 1, 2}, "train");
  wait_until_running(3);
  processes[2]->send(SIGKILL);
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(exit_of(*processes[rank], seconds(15)), 3);
    EXPECT_THAT(content(fmt::format("end-{}", rank)),
                AllOf(HasSubstr("rank 2 [pp0 dp2 tp0] was lost"),
                      HasSubstr("reduce gradients")));
  }
}

TEST_F(SessionTest, UnderAnotherLauncherAStoppedHostIsNoticed) {
  start_as_torchrun(3, {0, 1, 2}, "train");
  wait_until_running(3);
  processes[0]->send(SIGSTOP);
  for (const std::size_t rank : {1U, 2U}) {
    EXPECT_EQ(exit_of(*processes[rank], seconds(15)), 3);
    EXPECT_THAT(content(fmt::format("end-{}", rank)), HasSubstr("rank 0"));
  }
}

}  // namespace
}  // namespace merak::dist
