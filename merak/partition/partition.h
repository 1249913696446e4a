// From the model graph to stages: shard, then assign shards to stages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merak/graph/graph.h"
#include "merak/partition/sharding.h"

namespace merak::partition {

enum class ShardingMethod : std::uint8_t {
  kAuto,  // farthest_min_deps; nearest_min_deps where that gives too few
  kFarthestMinDeps,
  kNearestMinDeps,
  kLayerSplit,
};

enum class StageMethod : std::uint8_t {
  kAuto,  // least greatest training FLOPs
  kUniform,
  kUniformFloor,
  kParameters,  // least greatest number of parameters
  kCustom,
};

// By their names in the configuration ("auto", "farthest_min_deps", ..;
// "uniform", ..). Usage error naming the key, the value and what is known.
ShardingMethod sharding_method_from_name(std::string_view name);
StageMethod stage_method_from_name(std::string_view name);
std::string_view name_of(ShardingMethod method);
std::string_view name_of(StageMethod method);

struct PartitionOptions {
  int stages = 1;  // parallel.pipeline x parallel.chunks
  ShardingMethod sharding = ShardingMethod::kAuto;
  StageMethod method = StageMethod::kAuto;
  int shard_count = 0;  // wished for; 0: default_shard_count
  std::vector<std::string> split_points = {};  // kLayerSplit
  std::vector<int> custom = {};  // kCustom: first shard of each stage
};

struct Partition {
  Sharding sharding;
  std::vector<int> first_shard;    // by stage
  std::vector<int> stage_of_node;  // what split_stages takes
};

// Where too few shards come out for the stages, more are asked for, except with
// kCustom, whose numbers would change meaning, and kLayerSplit, whose shards
// are the user's. Usage error, with the number of shards and what would work,
// if that does not help.
Partition partition_model(const graph::Graph& graph,
                          const PartitionOptions& options);

}  // namespace merak::partition
