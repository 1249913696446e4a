#include "merak/dist/launch/launch_environment.h"

#include <gmock/gmock.h>

#include <map>

#include "merak/base/error.h"

namespace merak::dist {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

LaunchEnvironment read(const Variables& variables, bool resolves = true) {
  EnvironmentSource source;
  source.variable = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt
                                    : std::optional(found->second);
  };
  source.resolves = [=](const std::string&) { return resolves; };
  return read_launch_environment(source);
}

std::string error_of(const Variables& variables) {
  try {
    read(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

Variables with(Variables base, const Variables& changes) {
  for (const auto& [name, value] : changes) base[name] = value;
  return base;
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29501"}};

TEST(LaunchEnvironment, NothingIsOneRank) {
  const LaunchEnvironment environment = read({{"HOME", "/root"}});
  EXPECT_EQ(environment.launcher, Launcher::kNone);
  EXPECT_EQ(environment.world_size, 1);
  EXPECT_TRUE(environment.single_host());
}

TEST(LaunchEnvironment, Torchrun) {
  const LaunchEnvironment environment =
      read(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "2"},
                            {"TORCHELASTIC_USE_AGENT_STORE", "True"}}));
  EXPECT_EQ(environment.launcher, Launcher::kTorchrun);
  EXPECT_EQ(environment.rank, 5);
  EXPECT_EQ(environment.world_size, 8);
  EXPECT_EQ(environment.local_rank, 1);
  EXPECT_EQ(environment.local_world_size, 4);
  EXPECT_EQ(environment.host, "node0");
  EXPECT_EQ(environment.port, 29501);
  EXPECT_EQ(environment.restart, 2);
  EXPECT_TRUE(environment.store_is_there);
  EXPECT_FALSE(environment.single_host());
}

TEST(LaunchEnvironment, OurLauncherIsKnownByItsSocket) {
  const LaunchEnvironment environment =
      read(with(kTorchrun, {{"MERAK_HEARTBEAT_FD", "7"}}));
  EXPECT_EQ(environment.launcher, Launcher::kMerak);
  EXPECT_EQ(environment.heartbeat_fd, 7);
}

TEST(LaunchEnvironment, TorchrunUnderSlurmIsTorchrun) {
  EXPECT_EQ(read(with(kTorchrun, {{"SLURM_PROCID", "0"},
                                  {"SLURM_NTASKS", "2"},
                                  {"SLURM_STEP_ID", "0"}}))
                .launcher,
            Launcher::kTorchrun);
}

TEST(LaunchEnvironment, HalfSetVariablesAreNamed) {
  EXPECT_THAT(error_of({{"RANK", "0"}}),
              AllOf(HasSubstr("RANK is set"), HasSubstr("WORLD_SIZE is not")));
  EXPECT_THAT(error_of({{"WORLD_SIZE", "2"}}), HasSubstr("RANK is not"));
  Variables no_port = kTorchrun;
  no_port.erase("MASTER_PORT");
  EXPECT_THAT(error_of(no_port), HasSubstr("MASTER_PORT is not"));
  EXPECT_THAT(error_of(with(kTorchrun, {{"MASTER_ADDR", ""}})),
              HasSubstr("MASTER_ADDR is not"));
  EXPECT_THAT(error_of({{"OMPI_COMM_WORLD_RANK", "0"}}),
              HasSubstr("OMPI_COMM_WORLD_SIZE is not"));
  EXPECT_THAT(error_of({{"SLURM_PROCID", "0"}}),
              HasSubstr("SLURM_NTASKS is not"));
}

TEST(LaunchEnvironment, WhatIsNoNumberIsNamed) {
  for (const char* bad : {"x", "1x", " 1", "-1", "1.5", "99999999999"}) {
    EXPECT_THAT(error_of(with(kTorchrun, {{"RANK", bad}})),
                AllOf(HasSubstr("RANK"), HasSubstr(bad)))
        << bad;
  }
  EXPECT_THAT(error_of(with(kTorchrun, {{"WORLD_SIZE", "0"}})),
              HasSubstr("WORLD_SIZE is '0'"));
  EXPECT_THAT(error_of(with(kTorchrun, {{"MASTER_PORT", "65536"}})),
              HasSubstr("MASTER_PORT"));
}

TEST(LaunchEnvironment, ContradictionsAreNamed) {
  EXPECT_THAT(error_of(with(kTorchrun, {{"RANK", "8"}})),
              HasSubstr("RANK is 8 but WORLD_SIZE is 8"));
  EXPECT_THAT(error_of(with(kTorchrun, {{"LOCAL_RANK", "4"}})),
              HasSubstr("LOCAL_RANK is 4 but LOCAL_WORLD_SIZE is 4"));
  EXPECT_THAT(error_of(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})),
              HasSubstr("LOCAL_WORLD_SIZE is 9 but WORLD_SIZE is 8"));
}

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "prterun-a-1234@1"}};

TEST(LaunchEnvironment, OpenMpi) {
  const LaunchEnvironment environment = read(kOpenMpi);
  EXPECT_EQ(environment.launcher, Launcher::kOpenMpi);
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.local_world_size, 2);
  EXPECT_EQ(environment.host, "127.0.0.1");
  EXPECT_EQ(environment.port, read(kOpenMpi).port);
  EXPECT_GE(environment.port, 15000);
  EXPECT_LT(environment.port, 32000);
  EXPECT_NE(environment.port,
            read(with(kOpenMpi, {{"PMIX_NAMESPACE", "prterun-a-99@1"}})).port);
  EXPECT_EQ(read(with(kOpenMpi, {{"MASTER_PORT", "4000"}})).port, 4000);
}

TEST(LaunchEnvironment, OpenMpiOnSeveralHostsNeedsAnAddress) {
  const Variables several = with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_THAT(error_of(several), HasSubstr("-x MASTER_ADDR"));
  EXPECT_EQ(read(with(several, {{"MASTER_ADDR", "n7"}})).host, "n7");
  EXPECT_THAT(error_of(with(kOpenMpi, {{"PMIX_NAMESPACE", ""}})),
              HasSubstr("-x MASTER_PORT"));
}

const Variables kSlurm = {{"SLURM_PROCID", "3"},
                          {"SLURM_NTASKS", "5"},
                          {"SLURM_LOCALID", "0"},
                          {"SLURM_NODEID", "2"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2,1(x3)"},
                          {"SLURM_JOB_ID", "4711"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_NNODES", "4"},
                          {"SLURM_JOB_NODELIST", "gpu[007-009,12],x"},
                          {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};

TEST(LaunchEnvironment, Slurm) {
  const LaunchEnvironment environment = read(kSlurm);
  EXPECT_EQ(environment.launcher, Launcher::kSlurm);
  EXPECT_EQ(environment.rank, 3);
  EXPECT_EQ(environment.world_size, 5);
  EXPECT_EQ(environment.local_world_size, 1);
  EXPECT_EQ(environment.host, "gpu007");
  EXPECT_EQ(read(with(kSlurm, {{"SLURM_NODEID", "0"}})).local_world_size, 2);
  // Every rank derives the same port; another step has another one.
  EXPECT_EQ(environment.port, read(with(kSlurm, {{"SLURM_PROCID", "0"}})).port);
  EXPECT_NE(environment.port,
            read(with(kSlurm, {{"SLURM_STEP_ID", "1"}})).port);
  EXPECT_EQ(read(with(kSlurm, {{"MASTER_ADDR", "a"}})).host, "a");
}

TEST(LaunchEnvironment, SlurmHostsThatDoNotResolve) {
  EXPECT_EQ(read(kSlurm, false).host, "10.0.0.1");
  EXPECT_EQ(read(with(kSlurm, {{"SLURM_LAUNCH_NODE_IPADDR", ""}}), false).host,
            "gpu007");
  EXPECT_EQ(read(with(kSlurm, {{"SLURM_NNODES", "1"}}), false).host,
            "127.0.0.1");
}

TEST(LaunchEnvironment, ABatchScriptIsNoRank) {
  Variables batch = kSlurm;
  batch.erase("SLURM_STEP_ID");
  EXPECT_EQ(read(batch).launcher, Launcher::kNone);
}

TEST(LaunchEnvironment, FirstHostOfAList) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[003-010,12],b"), "node003");
  EXPECT_EQ(first_host("r[1-2]n[08,09]"), "r1n08");
  EXPECT_THROW(first_host(""), Error);
  EXPECT_THROW(first_host("a[1"), Error);
}

}  // namespace
}  // namespace merak::dist
