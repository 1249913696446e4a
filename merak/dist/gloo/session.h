// A rank's part in a run, from joining to leaving, in the right order:
// heartbeat, store, start barrier, monitor, groups.
//
//   Session session(read_launch_environment(), {.label = ..., .on_end = ...});
//   MeshGroups groups = make_mesh_groups(mesh, session.factory());
//   session.heartbeat().set_progress(step, micro_batch, "forward of stage 1");
//   session.finish();
//
// Under `merak launch` the launcher watches the ranks; under another launcher
// rank 0 does (Monitor). Without a launcher it is a run of one rank.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "merak/dist/communicator.h"
#include "merak/dist/gloo/gloo_communicator.h"
#include "merak/dist/gloo/tcp_store.h"
#include "merak/dist/launch/heartbeat.h"
#include "merak/dist/launch/launch_environment.h"
#include "merak/dist/launch/monitor.h"

namespace merak::dist {

struct SessionOptions {
  std::string label;  // "[pp0 dp1 tp0]"
  // See HeartbeatOptions::on_end: the run is over, because; must _exit.
  std::function<void(const std::string& line)> on_end;
  std::chrono::milliseconds start_timeout{60000};
  std::chrono::milliseconds operation_timeout{600000};
  WatchOptions watch;  // of the monitor on rank 0
};

class Session {
 public:
  // Blocks until all ranks have joined. Throws runtime errors that name the
  // missing ones.
  Session(const LaunchEnvironment& environment, const SessionOptions& options);

  int rank() const { return environment_.rank; }
  int world_size() const { return environment_.world_size; }
  // Who watches: "the launcher", "rank 0", "nobody".
  const std::string& watcher() const { return watcher_; }
  Heartbeat& heartbeat() { return heartbeat_; }
  Store& store() { return *store_; }
  const LaunchEnvironment& environment() const { return environment_; }
  GroupFactory& factory() { return *factory_; }
  // The one over TCP, for what needs connections of its own; null without a
  // launcher.
  const TcpStore* tcp_store() const { return tcp_store_; }
  const GlooOptions& gloo() const { return gloo_; }

  // All ranks leave together: the store, on rank 0, is needed to the end.
  // Waits for the others without a limit. Without it, the end of this process
  // is a failure.
  void finish();

 private:
  void join_monitor(const SessionOptions& options);

  LaunchEnvironment environment_;
  GlooOptions gloo_;
  std::string watcher_ = "nobody";
  std::unique_ptr<Store> store_;
  TcpStore* tcp_store_ = nullptr;
  std::unique_ptr<GroupFactory> factory_;
  std::unique_ptr<Monitor> monitor_;  // on rank 0
  Heartbeat heartbeat_;
};

// c10d writes warnings with back traces to standard error when a peer or the
// store is lost, which our own lines say better. From here on only its errors.
// A program's choice, before the first Session; for the whole process.
void quiet_c10d();

}  // namespace merak::dist
