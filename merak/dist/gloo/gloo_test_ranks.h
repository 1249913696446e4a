// Ranks as threads of a test, each with its own connection to a store on
// 127.0.0.1.
#pragma once

#include <utility>

#include "merak/dist/launch/launch_environment.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

// A port that stays ours until rank 0's store takes it over.
class TestRendezvous {
 public:
  explicit TestRendezvous(int ranks)
      : ranks_(ranks), listener_(listen_tcp("127.0.0.1", 0)) {}

  // Rank 0's may be taken once.
  LaunchEnvironment environment(int rank) {
    LaunchEnvironment environment;
    environment.launcher = Launcher::kMerak;
    environment.rank = environment.local_rank = rank;
    environment.world_size = environment.local_world_size = ranks_;
    environment.host = "127.0.0.1";
    environment.port = listener_.port;
    if (rank == 0) environment.listener_fd = listener_.fd.release();
    return environment;
  }
  void release() { listener_.fd.reset(); }

 private:
  int ranks_;
  Listener listener_;
};

}  // namespace merak::dist
