// What a launcher told this process through its environment: torchrun (and
// `merak launch`, which speaks its language), Open MPI, Slurm.
//
//   launcher   rank, size                 local rank, size         rendezvous
//   torchrun   RANK, WORLD_SIZE           LOCAL_RANK,              MASTER_ADDR,
//                                         LOCAL_WORLD_SIZE         MASTER_PORT
//   Open MPI   OMPI_COMM_WORLD_RANK,      .._LOCAL_RANK,           MASTER_*, or
//              .._SIZE                    .._LOCAL_SIZE            127.0.0.1
//   Slurm      SLURM_PROCID, SLURM_NTASKS SLURM_LOCALID,           MASTER_*, or
//              (SLURM_STEP_NUM_TASKS)     SLURM_STEP_TASKS_..      first host
//
// The first of these that is there counts: torchrun under Slurm is torchrun. A
// batch script of Slurm, which no srun started, is under no launcher.
// MASTER_ADDR and MASTER_PORT are obeyed under all of them. Where Slurm and
// Open MPI give no port, all ranks derive the same one, 15000 to 31999, from
// the job and the step. Slurm's rendezvous is the first host of the step; when
// its name does not resolve, SLURM_LAUNCH_NODE_IPADDR. Open MPI on several
// hosts needs MASTER_ADDR.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace merak::dist {

enum class Launcher : std::uint8_t {
  kNone,
  kMerak,
  kTorchrun,
  kOpenMpi,
  kSlurm
};
std::string_view name_of(Launcher launcher);

struct LaunchEnvironment {
  Launcher launcher = Launcher::kNone;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;  // 0: the launcher does not say
  std::string host;          // of rank 0's store; empty without a launcher
  int port = 0;
  int restart = 0;              // how often the group was started again
  bool store_is_there = false;  // torchrun's agent hosts the store at host:port

  // What `merak launch` gives its ranks: -1 where it does not.
  int heartbeat_fd = -1;  // a socket to the launcher (heartbeat.h)
  int listener_fd = -1;   // rank 0: bound to `port`, for the store

  // Every rank runs on this host, as far as the launcher says.
  bool single_host() const { return local_world_size == world_size; }
};

// What is read from; replaced in tests.
struct EnvironmentSource {
  std::function<std::optional<std::string>(const std::string&)> variable;
  std::function<bool(const std::string& host)> resolves;
};
EnvironmentSource process_environment();

// A usage error for variables that are half set, contradictory or no numbers.
LaunchEnvironment read_launch_environment(
    const EnvironmentSource& source = process_environment());

// The first host of a Slurm list: "node[003-010,12],b" is node003. A usage
// error if the text is no such list.
std::string first_host(std::string_view host_list);

}  // namespace merak::dist
