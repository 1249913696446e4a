#include "merak/partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "merak/base/error.h"
#include "merak/graph/testing/gpt2_graph.h"
#include "merak/graph/text.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::testing::gpt2_graph;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph model(int layers) {
  return gpt2_graph(
      {.layers = layers, .hidden = 64, .heads = 4, .vocabulary = 300});
}

std::string failure(const Graph& graph, const PartitionOptions& options) {
  try {
    partition_model(graph, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Partition, EveryStageHasNodesForAllMethods) {
  const Graph graph = model(6);
  for (auto sharding :
       {ShardingMethod::kAuto, ShardingMethod::kFarthestMinDeps,
        ShardingMethod::kNearestMinDeps, ShardingMethod::kLayerSplit}) {
    for (auto method : {StageMethod::kAuto, StageMethod::kUniform,
                        StageMethod::kUniformFloor, StageMethod::kParameters}) {
      for (int stages : {1, 2, 3, 5, 8}) {
        PartitionOptions options{.stages = stages};
        options.sharding = sharding;
        options.method = method;
        const Partition partition = partition_model(graph, options);
        const std::set<int> seen(partition.stage_of_node.begin(),
                                 partition.stage_of_node.end());
        EXPECT_EQ(static_cast<int>(seen.size()), stages);
        EXPECT_EQ(*seen.rbegin(), stages - 1);
      }
    }
  }
}

TEST(Partition, AutomaticStagesAreEven) {
  const Graph graph = model(12);
  const Partition partition = partition_model(graph, {.stages = 4});
  std::vector<double> sums(4);
  const auto work = shard_training_flops(graph, partition.sharding);
  double total = 0;
  for (std::size_t shard = 0; shard < work.size(); ++shard) {
    int stage = 0;
    for (int first : partition.first_shard) {
      stage += first > 0 && first <= static_cast<int>(shard);
    }
    sums[static_cast<std::size_t>(stage)] += work[shard];
    total += work[shard];
  }
  EXPECT_LT(*std::max_element(sums.begin(), sums.end()), 1.1 * total / 4);
}

TEST(Partition, CustomIsObeyed) {
  PartitionOptions options{.stages = 3};
  options.sharding = ShardingMethod::kFarthestMinDeps;
  options.method = StageMethod::kCustom;
  options.custom = {0, 1, 8};
  const Graph graph = model(6);
  const Partition partition = partition_model(graph, options);
  EXPECT_EQ(partition.sharding.count, 9);
  EXPECT_THAT(partition.first_shard, ElementsAre(0, 1, 8));
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const int shard = partition.sharding.shard_of_node[i];
    EXPECT_EQ(partition.stage_of_node[i], (shard >= 1) + (shard >= 8));
  }
  options.custom = {0, 1, 9};
  EXPECT_THAT(failure(graph, options), HasSubstr("has 9 shards"));
}

TEST(Partition, AsksForMoreShardsBeforeItGivesUp) {
  const Graph graph = model(6);
  PartitionOptions options{.stages = 12};
  options.sharding = ShardingMethod::kFarthestMinDeps;
  EXPECT_EQ(partition_model(graph, options).sharding.count, 15);
  options.stages = 16;
  EXPECT_THAT(failure(graph, options),
              HasSubstr("divides into 15 shards (parallel.sharding = "
                        "\"farthest_min_deps\"), too few for 16 stages; use "
                        "at most 15 stages"));
  options.sharding = ShardingMethod::kAuto;
  EXPECT_GE(partition_model(graph, options).sharding.count, 16);
  options.stages = 100000;
  EXPECT_THAT(failure(graph, options), HasSubstr("too few for 100000 stages"));
  options.stages = 0;
  EXPECT_THAT(failure(graph, options), HasSubstr("must be positive"));
}

TEST(Partition, NamesOfMethods) {
  for (const char* name :
       {"auto", "farthest_min_deps", "nearest_min_deps", "layer_split"}) {
    EXPECT_EQ(name_of(sharding_method_from_name(name)), name);
  }
  for (const char* name :
       {"auto", "uniform", "uniform_floor", "parameters", "custom"}) {
    EXPECT_EQ(name_of(stage_method_from_name(name)), name);
  }
  EXPECT_THROW(sharding_method_from_name("farthest"), Error);
  EXPECT_THROW(stage_method_from_name(""), Error);
}

}  // namespace
}  // namespace merak::partition
