// Starts the ranks of a run on this host and sees them through: `merak launch`,
// and `merak train` where no launcher did.
//
//   LaunchOptions options;
//   options.command = {"merak", "train", "a.toml"};
//   options.local_ranks = 4;
//   LaunchResult result = launch(options);
//   return result.exit_code;
//
// Each rank gets torchrun's environment (RANK, WORLD_SIZE, LOCAL_RANK,
// LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT, ...), its own cores,
// OMP_NUM_THREADS = cores/ranks unless it is set, and a socket for heartbeats.
//
// A rank that fails, is killed, stopped or silent ends all others, on all
// nodes: within 15 s in any case, usually at once. With restarts left, the
// whole group starts again. Nothing outlives the launcher, even if it is
// killed.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "merak/dist/launch/rank_watch.h"

namespace merak::dist {

struct LaunchOptions {
  std::vector<std::string> command;      // program, looked up in PATH, and args
  std::vector<std::string> environment;  // "NAME=value", over this process's
  int local_ranks = 1;
  int max_restarts = 0;

  // Several hosts: one launcher on each. `rendezvous` is HOST:PORT of node 0,
  // where its launcher listens.
  int nodes = 1;
  int node_rank = 0;
  std::string rendezvous;

  // Rank 0 gets the bound socket of MASTER_PORT (LaunchEnvironment's
  // listener_fd), so that no one can take the port before its store listens.
  // For programs that know of it; others bind the port themselves.
  bool hand_over_listener = false;

  WatchOptions watch;
  std::chrono::milliseconds grace{4000};  // from the verdict to SIGKILL
  // After SIGINT, SIGTERM or SIGHUP, which are passed on: for saving. A second
  // signal shortens it to `grace`.
  std::chrono::milliseconds stop_grace{60000};
  // Lines for the user, from launch()'s thread.
  std::function<void(const std::string& line)> on_message;
};

struct LaunchResult {
  // 0, or the first failing rank's; 128 + n where signal n killed it, or ended
  // the launcher.
  int exit_code = 0;
  int restarts = 0;
  std::string failure;  // the line, empty if all went well
};

// Blocks until all ranks are gone. Call it from the main thread: SIGINT,
// SIGTERM, SIGHUP and SIGCHLD are blocked in this thread meanwhile and read
// from here, so other threads must block them too (start_thread does). Throws
// usage errors for wrong options and a program that does not start.
LaunchResult launch(const LaunchOptions& options);

// "host:29500" or "[::1]:29500".
struct HostPort {
  std::string host;
  int port = 0;
};
HostPort parse_host_port(const std::string& text);

}  // namespace merak::dist
