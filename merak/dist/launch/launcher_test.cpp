#include "merak/dist/launch/launcher.h"

#include <gmock/gmock.h>

#include <set>

#include "merak/dist/launch/cores.h"
#include "merak/dist/launch/process_test.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

class LauncherTest : public ProcessTest {
 protected:
  RankProcess& launch_ranks(int ranks, const std::string& mode,
                            int restarts = 0) {
    return start({"launch", std::to_string(ranks), std::to_string(restarts),
                  mode, folder.string()});
  }
  // Until every rank is in its training loop.
  void wait_until_running(int ranks, int restart = 0) {
    for (int rank = 0; rank < ranks; ++rank) pid_of(rank, restart);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  }
};

TEST_F(LauncherTest, RanksGetTorchrunsEnvironmentCoresAndThreads) {
  RankProcess& launcher = launch_ranks(3, "describe");
  EXPECT_EQ(exit_of(launcher, seconds(60)), 0);
  const std::size_t cores =
      std::max<std::size_t>(1, allowed_cores().size() / 3);
  const char* threads = std::getenv("OMP_NUM_THREADS");
  for (int rank = 0; rank < 3; ++rank) {
    const std::string expected = fmt::format(
        "rank {0} of 3, local {0} of 3, 127\\.0\\.0\\.1:[0-9]+ restart 0 "
        "launcher merak threads {1} cores {2} listener {3} extra yes",
        rank, threads == nullptr ? std::to_string(cores) : threads, cores,
        rank == 0 ? "true" : "false");
    EXPECT_THAT(content(fmt::format("environment-{}", rank)),
                MatchesRegex(expected));
  }
  EXPECT_EQ(content("messages-0"), "");
}

TEST_F(LauncherTest, KilledRankIsNamedAndEndsAll) {
  RankProcess& launcher = launch_ranks(4, "train");
  wait_until_running(4);
  kill(pid_of(2), SIGKILL);
  EXPECT_EQ(exit_of(launcher, seconds(15)), 137);
  EXPECT_TRUE(none_alive());
  EXPECT_THAT(content("messages-0"),
              MatchesRegex("rank 2 \\[pp2 dp0 tp0\\] was killed by signal 9 at "
                           "step [0-9]+, micro-batch [0-3], forward of stage "
                           "2; ending the other ranks\n"));
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(content(fmt::format("end-{}", rank)), HasSubstr("rank 2"));
  }
}

TEST_F(LauncherTest, StoppedRankIsNamedAndEndsAll) {
  RankProcess& launcher = launch_ranks(3, "train");
  wait_until_running(3);
  kill(pid_of(1), SIGSTOP);
  EXPECT_EQ(exit_of(launcher, seconds(15)), 1);
  EXPECT_TRUE(none_alive());
  EXPECT_THAT(content("messages-0"),
              AllOf(HasSubstr("rank 1 [pp1 dp0 tp0] has been stopped"),
                    HasSubstr("forward of stage 1")));
}

TEST_F(LauncherTest, RanksThatDoNotListenAreKilled) {
  RankProcess& launcher = launch_ranks(3, "deaf");
  wait_until_running(3);
  kill(pid_of(0), SIGKILL);
  EXPECT_EQ(exit_of(launcher, seconds(15)), 137);
  EXPECT_TRUE(none_alive());
}

TEST_F(LauncherTest, AKilledLauncherLeavesNoOrphan) {
  for (const char* mode : {"train", "deaf", "stranger"}) {
    RankProcess& launcher = launch_ranks(3, mode);
    wait_until_running(3);
    kill(launcher.pid(), SIGKILL);
    EXPECT_TRUE(within(seconds(15), [&] { return none_alive(); })) << mode;
    for (const pid_t pid : pids_seen()) waitpid(pid, nullptr, WNOHANG);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
  }
}

TEST_F(LauncherTest, TheCulpritsReportAndCodeAreTheResult) {
  EXPECT_EQ(exit_of(launch_ranks(3, "report"), seconds(30)), 7);
  EXPECT_THAT(content("messages-0"),
              AllOf(HasSubstr("rank 1 [pp1 dp0 tp0] failed at step 0"),
                    HasSubstr("the loss is NaN")));
}

TEST_F(LauncherTest, AnyProgramsFailureEndsAll) {
  EXPECT_EQ(exit_of(launch_ranks(3, "stranger"), seconds(30)), 5);
  EXPECT_TRUE(none_alive());
  EXPECT_THAT(content("messages-0"), HasSubstr("rank 1 exited with code 5"));
}

TEST_F(LauncherTest, RestartsTheWholeGroup) {
  EXPECT_EQ(exit_of(launch_ranks(3, "fail-once", 2), seconds(60)), 0);
  EXPECT_TRUE(has("pid-1-0") && has("pid-1-2"));
  EXPECT_FALSE(has("pid-2-0"));
  EXPECT_THAT(content("messages-0"), HasSubstr("restart 1 of 2"));
}

TEST_F(LauncherTest, RestartsRunOut) {
  EXPECT_EQ(exit_of(launch_ranks(2, "fail-always", 1), seconds(60)), 4);
  EXPECT_TRUE(has("pid-1-0"));
  EXPECT_FALSE(has("pid-2-0"));
  EXPECT_TRUE(none_alive());
}

TEST_F(LauncherTest, SignalsArePassedOnAndRanksMaySave) {
  RankProcess& launcher = launch_ranks(3, "save");
  wait_until_running(3);
  kill(launcher.pid(), SIGTERM);
  EXPECT_EQ(exit_of(launcher, seconds(15)), 0);
  EXPECT_TRUE(has("saved-0") && has("saved-1") && has("saved-2"));
  EXPECT_TRUE(none_alive());
}

TEST_F(LauncherTest, ASecondSignalEndsThoseThatDoNotObey) {
  RankProcess& launcher = launch_ranks(2, "deaf");
  wait_until_running(2);
  kill(launcher.pid(), SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(launcher.pid(), SIGTERM);
  EXPECT_EQ(exit_of(launcher, seconds(15)), 137);
  EXPECT_TRUE(none_alive());
}

class NodesTest : public LauncherTest {
 protected:
  // Launchers of two nodes with 2 and 1 ranks.
  void launch_nodes(const std::string& mode, int restarts = 0) {
    std::string at;
    {
      const Listener free = listen_tcp("127.0.0.1", 0);
      at = fmt::format("127.0.0.1:{}", free.port);
    }
    for (int node = 0; node < 2; ++node) {
      start({"launch", node == 0 ? "2" : "1", std::to_string(restarts), mode,
             folder.string(), "2", std::to_string(node), at});
    }
  }
};

TEST_F(NodesTest, RanksAreNumberedOverTheNodes) {
  launch_nodes("describe");
  EXPECT_EQ(exit_of(*processes[0], seconds(60)), 0);
  EXPECT_EQ(exit_of(*processes[1], seconds(60)), 0);
  EXPECT_THAT(content("environment-1"), HasSubstr("rank 1 of 3, local 1 of 2"));
  EXPECT_THAT(content("environment-2"), HasSubstr("rank 2 of 3, local 0 of 1"));
}

TEST_F(NodesTest, AFailureOnOneEndsBothWithTheSameLine) {
  launch_nodes("train");
  wait_until_running(3);
  kill(pid_of(2), SIGKILL);
  EXPECT_EQ(exit_of(*processes[0], seconds(15)), 137);
  EXPECT_EQ(exit_of(*processes[1], seconds(15)), 137);
  EXPECT_TRUE(none_alive());
  EXPECT_THAT(content("messages-0"), HasSubstr("rank 2 [pp2 dp0 tp0] was "
                                               "killed by signal 9"));
  EXPECT_EQ(content("messages-0"), content("messages-1"));
}

TEST_F(NodesTest, RestartTogether) {
  launch_nodes("fail-once", 1);
  EXPECT_EQ(exit_of(*processes[0], seconds(60)), 0);
  EXPECT_EQ(exit_of(*processes[1], seconds(60)), 0);
  EXPECT_TRUE(has("pid-1-0") && has("pid-1-2"));
}

TEST_F(NodesTest, ALostLauncherEndsTheOtherNode) {
  launch_nodes("train");
  wait_until_running(3);
  kill(processes[1]->pid(), SIGKILL);
  EXPECT_EQ(exit_of(*processes[0], seconds(15)), 1);
  EXPECT_THAT(content("messages-0"), HasSubstr("launcher of node 1 is gone"));
  EXPECT_TRUE(within(seconds(15), [&] { return none_alive(); }));
}

std::string error_of(const LaunchOptions& options) {
  try {
    launch(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Launcher, RefusesWrongUse) {
  LaunchOptions options;
  EXPECT_THAT(error_of(options), HasSubstr("no program"));
  options.command = {"/nowhere/program"};
  EXPECT_THAT(error_of(options),
              HasSubstr("cannot start '/nowhere/program': No such file"));
  options.local_ranks = 0;
  EXPECT_THAT(error_of(options), HasSubstr("local ranks is 0"));
  options.local_ranks = 1;
  options.nodes = 2;
  EXPECT_THAT(error_of(options), HasSubstr("--rendezvous HOST:PORT"));
  options.node_rank = 2;
  EXPECT_THAT(error_of(options), HasSubstr("--node-rank is 2 of 2 nodes"));
}

TEST(Launcher, HostPort) {
  EXPECT_EQ(parse_host_port("n0:29500").host, "n0");
  EXPECT_EQ(parse_host_port("n0:29500").port, 29500);
  EXPECT_EQ(parse_host_port("[::1]:80").host, "::1");
  for (const char* bad : {"n0", ":1", "n0:", "n0:x", "n0:0", "n0:70000"}) {
    EXPECT_THROW(parse_host_port(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace merak::dist
