#include "merak/run/in_process.h"

#include <ATen/Parallel.h>

#include <exception>
#include <mutex>
#include <thread>

#include "merak/dist/in_process.h"
#include "merak/dist/thread.h"

namespace merak::run {
namespace {

class Ranks {
 public:
  Ranks(const config::Layout& layout)
      : mesh_(static_cast<int>(layout.pipeline), static_cast<int>(layout.data),
              static_cast<int>(layout.tensor)),
        world_(mesh_.size()) {}

  // `body` runs on every rank's thread. A failure must end the other ranks
  // before anything is destroyed that waits for them.
  void run(const std::function<void(runtime::RankWorld)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < mesh_.size(); ++rank) {
      threads.push_back(dist::start_thread([this, rank, &body] {
        const auto factory = world_.factory(rank);
        guard([&] {
          runtime::RankWorld world;
          world.mesh = mesh_;
          world.rank = rank;
          world.groups = dist::make_mesh_groups(mesh_, *factory);
          world.factory = factory.get();
          body(std::move(world));
        });
      }));
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  void guard(const std::function<void()>& body) {
    try {
      body();
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      world_.abort(error.what());
    }
  }

 private:
  dist::Mesh mesh_;
  dist::InProcessWorld world_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void on_ranks(const config::Config& config, const config::Layout& layout,
              const std::function<runtime::TrainableModel()>& model,
              const runtime::Datasets& datasets,
              const InProcessOptions& options, const RankBody& body) {
  Ranks ranks(layout);
  ranks.run([&](runtime::RankWorld world) {
    at::set_num_threads(options.threads_per_rank);
    const int rank = world.rank;
    runtime::Trainer trainer(config, layout, model(), std::move(world),
                             datasets);
    ranks.guard([&] { body(rank, trainer); });
  });
}

}  // namespace merak::run
