#include "merak/partition/partition.h"

#include <array>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/partition/assign.h"
#include "merak/partition/methods.h"

namespace merak::partition {
namespace {

using graph::Graph;

template <typename Method>
using Names = std::pair<std::string_view, Method>;

constexpr std::array<Names<ShardingMethod>, 4> kShardingNames = {{
    {"auto", ShardingMethod::kAuto},
    {"farthest_min_deps", ShardingMethod::kFarthestMinDeps},
    {"nearest_min_deps", ShardingMethod::kNearestMinDeps},
    {"layer_split", ShardingMethod::kLayerSplit},
}};

constexpr std::array<Names<StageMethod>, 5> kStageNames = {{
    {"auto", StageMethod::kAuto},
    {"uniform", StageMethod::kUniform},
    {"uniform_floor", StageMethod::kUniformFloor},
    {"parameters", StageMethod::kParameters},
    {"custom", StageMethod::kCustom},
}};

template <typename Table>
auto by_name(const Table& table, std::string_view key, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [row_name, method] : table) {
    if (row_name == name) return method;
    known.emplace_back(row_name);
  }
  fail_usage("{} is '{}'; known are {}", key, name, join(known, ", "));
}

template <typename Table, typename Method>
std::string_view by_method(const Table& table, Method method) {
  for (const auto& [name, row_method] : table) {
    if (row_method == method) return name;
  }
  return {};
}

Sharding shard(const Graph& graph, const PartitionOptions& options,
               ShardingMethod method, int shard_count) {
  switch (method) {
    case ShardingMethod::kLayerSplit:
      return layer_split(graph, options.split_points);
    case ShardingMethod::kNearestMinDeps:
      return nearest_min_deps(graph, shard_count);
    case ShardingMethod::kAuto:
    case ShardingMethod::kFarthestMinDeps:
      return farthest_min_deps(graph, shard_count);
  }
  fail<ErrorKind::kInternal>("no such sharding method");
}

// Asks for twice as many shards until there are enough, or no more come.
Sharding shard_finely_enough(const Graph& graph,
                             const PartitionOptions& options,
                             ShardingMethod method, int shard_count) {
  Sharding best = shard(graph, options, method, shard_count);
  const bool fixed = method == ShardingMethod::kLayerSplit ||
                     options.method == StageMethod::kCustom;
  const auto most = 4 * static_cast<std::int64_t>(graph.nodes().size());
  while (!fixed && best.count < options.stages && shard_count < most) {
    shard_count *= 2;
    Sharding finer = shard(graph, options, method, shard_count);
    if (finer.count > best.count) best = std::move(finer);
  }
  return best;
}

int wished_count(const Graph& graph, const PartitionOptions& options) {
  if (options.shard_count > 0) return options.shard_count;
  // Attention and MLP apart: stages can be more even.
  const bool automatic = options.sharding == ShardingMethod::kAuto &&
                         options.method == StageMethod::kAuto;
  return default_shard_count(graph) + (automatic ? count_blocks(graph) : 0);
}

Sharding choose_sharding(const Graph& graph, const PartitionOptions& options) {
  Sharding sharding = shard_finely_enough(graph, options, options.sharding,
                                          wished_count(graph, options));
  if (sharding.count < options.stages &&
      options.sharding == ShardingMethod::kAuto) {
    Sharding other = shard_finely_enough(
        graph, options, ShardingMethod::kNearestMinDeps, options.stages);
    if (other.count > sharding.count) sharding = std::move(other);
  }
  if (sharding.count < options.stages) {
    const bool automatic = options.sharding == ShardingMethod::kAuto;
    fail_usage(
        "the model divides into {} shards (parallel.sharding = \"{}\"), too "
        "few for {} stages; use at most {} stages (parallel.pipeline x "
        "parallel.chunks){}",
        sharding.count, name_of(options.sharding), options.stages,
        sharding.count, automatic ? "" : ", or sharding = \"auto\"");
  }
  return sharding;
}

std::vector<int> assign(const Graph& graph, const Sharding& sharding,
                        const PartitionOptions& options) {
  switch (options.method) {
    case StageMethod::kUniform:
      return assign_uniform(sharding.count, options.stages);
    case StageMethod::kUniformFloor:
      return assign_uniform_floor(sharding.count, options.stages);
    case StageMethod::kCustom:
      return assign_custom(options.custom, sharding.count, options.stages);
    case StageMethod::kParameters: {
      const auto counts = shard_parameters(graph, sharding);
      const std::vector<double> costs(counts.begin(), counts.end());
      return assign_balanced(costs, options.stages);
    }
    case StageMethod::kAuto:
      return assign_balanced(shard_training_flops(graph, sharding),
                             options.stages);
  }
  fail<ErrorKind::kInternal>("no such stage method");
}

}  // namespace

ShardingMethod sharding_method_from_name(std::string_view name) {
  return by_name(kShardingNames, "parallel.sharding", name);
}
StageMethod stage_method_from_name(std::string_view name) {
  return by_name(kStageNames, "parallel.partition", name);
}
std::string_view name_of(ShardingMethod method) {
  return by_method(kShardingNames, method);
}
std::string_view name_of(StageMethod method) {
  return by_method(kStageNames, method);
}

Partition partition_model(const Graph& graph, const PartitionOptions& options) {
  if (options.stages < 1) {
    fail_usage("the number of stages is {}; it must be positive",
               options.stages);
  }
  Partition partition;
  partition.sharding = choose_sharding(graph, options);
  partition.first_shard = assign(graph, partition.sharding, options);
  std::vector<int> stage_of_shard(
      static_cast<std::size_t>(partition.sharding.count));
  int stage = 0;
  for (int shard = 0; shard < partition.sharding.count; ++shard) {
    const auto next = static_cast<std::size_t>(stage) + 1;
    if (next < partition.first_shard.size() &&
        partition.first_shard[next] == shard) {
      ++stage;
    }
    stage_of_shard[static_cast<std::size_t>(shard)] = stage;
  }
  for (int shard : partition.sharding.shard_of_node) {
    partition.stage_of_node.push_back(
        stage_of_shard[static_cast<std::size_t>(shard)]);
  }
  return partition;
}

}  // namespace merak::partition
