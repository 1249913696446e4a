// Communicator over Gloo (c10d::ProcessGroupGloo), for CPU memory.
//
// Each group has its own connections and one thread for its collectives. Gloo
// adds in ring order: every rank gets the same bits, which depend on the
// group's size and the count. bf16 and f16 are rounded at each addition.
//
// A wait() that runs into the timeout closes the group's connections, so that
// the peers fail too, at once.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "merak/dist/communicator.h"
#include "merak/dist/gloo/tcp_store.h"
#include "merak/dist/launch/launch_environment.h"

namespace merak::dist {

struct GlooOptions {
  // Of this rank, as its peers reach it.
  std::string address = "127.0.0.1";
  // Of every operation and of connecting. It is the last resort: lost ranks
  // are noticed by the heartbeats long before.
  std::chrono::milliseconds timeout{600000};
};

// The options that suit a launcher's environment: the loopback on a single
// host, else the address on the way to rank 0.
GlooOptions gloo_options(const LaunchEnvironment& environment);

// `store` must outlive the factory, not the groups.
std::unique_ptr<GroupFactory> make_gloo_factory(const TcpStore& store, int rank,
                                                int world_size,
                                                const GlooOptions& options);

}  // namespace merak::dist
