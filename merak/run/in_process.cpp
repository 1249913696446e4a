#include "merak/run/in_process.h"

#include <ATen/Parallel.h>

#include "merak/run/rank_threads.h"

namespace merak::run {

void on_ranks(const config::Config& config, const config::Layout& layout,
              const std::function<runtime::TrainableModel()>& model,
              const runtime::Datasets& datasets,
              const InProcessOptions& options, const RankBody& body) {
  RankThreads ranks(layout);
  ranks.run([&](int rank, dist::GroupFactory& factory) {
    at::set_num_threads(options.threads_per_rank);
    runtime::RankWorld world;
    world.mesh = ranks.mesh();
    world.rank = rank;
    world.groups = dist::make_mesh_groups(world.mesh, factory);
    world.factory = &factory;
    runtime::Trainer trainer(config, layout, model(), std::move(world),
                             datasets);
    ranks.guard([&] { body(rank, trainer); });
  });
}

}  // namespace merak::run
