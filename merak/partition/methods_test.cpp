#include "merak/partition/methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>

#include "merak/base/error.h"
#include "merak/graph/testing/gpt2_graph.h"
#include "merak/graph/text.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::kNoNode;
using graph::NodeId;
using graph::parse;
using graph::testing::gpt2_graph;
using graph::testing::Gpt2Options;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// Realistic proportions: embeddings outweigh nothing, h^2 dwarfs h.
Gpt2Options options_of(int layers) {
  return {.layers = layers, .hidden = 64, .heads = 4, .vocabulary = 300};
}

// The shards that nodes of a module are in, whatever is below it included.
std::set<int> shards_of(const Graph& graph, const Sharding& sharding,
                        const std::string& module) {
  std::set<int> shards;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const std::string& path = graph.nodes()[i].module;
    if (path == module || path.starts_with(module + ".")) {
      shards.insert(sharding.shard_of_node[i]);
    }
  }
  return shards;
}

void expect_sound(const Graph& graph, const Sharding& sharding) {
  std::set<int> seen;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    seen.insert(sharding.shard_of_node[i]);
    for_each_operand(graph.nodes()[i], [&](graph::ValueId id) {
      const NodeId producer = graph.value(id).producer;
      if (producer == kNoNode) return;
      EXPECT_LE(sharding.shard_of_node[index(producer)],
                sharding.shard_of_node[i])
          << print(graph, graph.nodes()[i]);
    });
  }
  EXPECT_EQ(static_cast<int>(seen.size()), sharding.count);
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), sharding.count - 1);
}

// No bound value reaches further than the next shard, unless many read it.
void expect_adjacent(const Graph& graph, const Sharding& sharding) {
  const auto users = users_of_values(graph);
  const std::vector<bool> free = free_nodes(graph);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const NodeId producer = graph.values()[i].producer;
    if (producer == kNoNode || free[index(producer)] ||
        users[i].size() > kManyUsers) {
      continue;
    }
    for (NodeId user : users[i]) {
      EXPECT_LE(sharding.shard_of_node[index(user)] -
                    sharding.shard_of_node[index(producer)],
                1)
          << graph.values()[i].name;
    }
  }
}

TEST(FarthestMinDeps, OneShardABlockByDefault) {
  for (int layers : {5, 6, 12, 24}) {
    for (bool addmm : {false, true}) {
      Gpt2Options options = options_of(layers);
      options.addmm = addmm;
      options.dropout = addmm ? 0.1 : 0.0;
      options.mask = addmm;
      const Graph graph = gpt2_graph(options);
      EXPECT_EQ(default_shard_count(graph), 2 * layers + 4);
      const Sharding sharding =
          farthest_min_deps(graph, default_shard_count(graph));
      EXPECT_EQ(sharding.count, layers + 3) << layers << " layers";
      expect_sound(graph, sharding);
      expect_adjacent(graph, sharding);
      for (int i = 0; i < layers; ++i) {
        EXPECT_THAT(shards_of(graph, sharding,
                              "transformer.h." + std::to_string(i) + ".attn"),
                    ElementsAre(i + 2));
      }
      EXPECT_THAT(shards_of(graph, sharding, "transformer.wte"),
                  ElementsAre(0));
      EXPECT_THAT(shards_of(graph, sharding, "transformer.wpe"),
                  ElementsAre(1));
      EXPECT_THAT(shards_of(graph, sharding, "lm_head"),
                  ElementsAre(layers + 2));
    }
  }
}

TEST(FarthestMinDeps, AttentionAndMlpApartFromThreeALayerOn) {
  for (int layers : {2, 5, 12}) {
    for (int shard_count : {3 * layers, 4 * layers, 6 * layers}) {
      const Graph graph = gpt2_graph(options_of(layers));
      const Sharding sharding = farthest_min_deps(graph, shard_count);
      EXPECT_EQ(sharding.count, 2 * layers + 3);
      expect_sound(graph, sharding);
      expect_adjacent(graph, sharding);
      for (int i = 0; i < layers; ++i) {
        const std::string block = "transformer.h." + std::to_string(i);
        EXPECT_THAT(shards_of(graph, sharding, block + ".attn"),
                    ElementsAre(2 * i + 2));
        EXPECT_THAT(shards_of(graph, sharding, block + ".mlp"),
                    ElementsAre(2 * i + 3));
      }
    }
  }
}

TEST(FarthestMinDeps, UntiedHeadsLossJoinsTheHead) {
  Gpt2Options options = options_of(6);
  options.tied = false;
  const Graph graph = gpt2_graph(options);
  const Sharding sharding = farthest_min_deps(graph, 18);
  expect_sound(graph, sharding);
  EXPECT_EQ(sharding.shard_of_node.back(), sharding.count - 1);
  EXPECT_THAT(shards_of(graph, sharding, "lm_head"),
              ElementsAre(sharding.count - 1));
}

// Two layers, a parameter each: a budget of one closes a shard at each of them.
std::string chain(const std::string& last) {
  return R"(graph "g" {
    %x: f32[2] = user "x"
    %a: f32[2] = parameter "a"
    %b: f32[2] = parameter "b"
    %c: f32[2] = parameter "c"
    %3: f32[2] = aten.mul.Tensor(%x, %a)
    %4: f32[2] = aten.mul.Tensor(%3, %b)
    %5: f32[2] = aten.mul.Tensor(%4, %c)
    )" + last +
         "}";
}

TEST(FarthestMinDeps, ReadsListsAndAbsentTensors) {
  EXPECT_EQ(farthest_min_deps(parse(chain("")), 6).count, 3);
  // %3 is read two shards on: everything behind its own shard becomes one.
  EXPECT_EQ(farthest_min_deps(
                parse(chain("%6: f32[4] = aten.cat([none, %3, %5], 0)")), 6)
                .count,
            2);
  EXPECT_EQ(
      farthest_min_deps(parse(chain("%6: f32[2] = aten.mul.Tensor(%3, %5)")), 6)
          .count,
      2);
}

TEST(FarthestMinDeps, CarriesValuesThatManyRead) {
  std::string readers;
  for (int i = 6; i < 12; ++i) {
    readers += "%" + std::to_string(i) + ": f32[2] = aten.mul.Tensor(%3, %" +
               std::to_string(i - 1) + ")\n";
  }
  EXPECT_EQ(farthest_min_deps(parse(chain(readers)), 6).count, 3);
}

TEST(FarthestMinDeps, FreeNodesGoWithTheirFirstReader) {
  const Graph graph = parse(R"(graph "g" {
    %x: f32[2] = user "x"
    %a: f32[2] = parameter "a"
    %b: f32[2] = parameter "b"
    %3: f32[2] = aten.ones([2])
    %4: f32[2] = aten.neg(%3)
    %5: f32[2] = aten.zeros([2])
    %6: f32[2] = aten.mul.Tensor(%x, %a)
    %7: f32[2] = aten.mul.Tensor(%6, %b)
    %8: f32[2] = aten.mul.Tensor(%7, %4)
    return "y": %8
    return "z": %5
  })");
  const Sharding sharding = farthest_min_deps(graph, 4);
  EXPECT_THAT(sharding.shard_of_node, ElementsAre(1, 1, 1, 0, 1, 1));
  expect_sound(graph, sharding);
}

// A cut between a weight's view and its reader would send the weight along.
TEST(Methods, ViewsOfParametersGoWithTheirReader) {
  const Graph graph = parse(R"(graph "g" {
    %x: f32[2,2] = user "x"
    %a: f32[2,2] = parameter "a"
    %b: f32[1,2,2] = parameter "b"
    %c: f32[2,2] = parameter "c"
    %4: f32[2,2] = aten.t(%a) @"l.0"
    %5: f32[2,2] = aten.mm(%x, %4) @"l.0"
    %6: f32[2,2] = aten.view(%b, [2, 2]) @"l.1"
    %7: f32[2,2] = aten.t(%6) @"l.1"
    %8: f32[2,2] = aten.mm(%5, %7) @"l.1"
    %9: f32[2,2] = aten.t(%c) @"l.2"
    %10: f32[2,2] = aten.mm(%8, %9) @"l.2"
    return "y": %10
  })");
  EXPECT_THAT(parameters_of_nodes(graph), ElementsAre(0, 4, 0, 0, 4, 0, 4));
  for (const Sharding& sharding :
       {farthest_min_deps(graph, 6), nearest_min_deps(graph, 3),
        nearest_min_deps(graph, 7), layer_split(graph, {})}) {
    EXPECT_THAT(sharding.shard_of_node, ElementsAre(0, 0, 1, 1, 1, 2, 2));
  }
}

TEST(FarthestMinDeps, NeedsAPositiveCount) {
  EXPECT_THROW(farthest_min_deps(parse(chain("")), 0), Error);
  EXPECT_THROW(nearest_min_deps(parse(chain("")), -1), Error);
}

TEST(NearestMinDeps, CutsAGptBetweenResidualAdds) {
  const Gpt2Options options = options_of(8);
  const Graph graph = gpt2_graph(options);
  const Sharding sharding = nearest_min_deps(graph, 8);
  EXPECT_EQ(sharding.count, 8);
  expect_sound(graph, sharding);
  // Each cut is crossed by the hidden state and nothing else.
  std::vector<std::set<graph::ValueId>> crossing(7);
  const auto users = users_of_values(graph);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const NodeId producer = graph.values()[i].producer;
    if (producer == kNoNode || users[i].empty()) continue;
    for (int cut = sharding.shard_of_node[index(producer)];
         cut < sharding.shard_of_node[index(users[i].back())]; ++cut) {
      crossing[index(cut)].insert(static_cast<graph::ValueId>(i));
    }
  }
  for (const auto& values : crossing) EXPECT_EQ(values.size(), 1u);
}

TEST(NearestMinDeps, GivesTheNumberAskedForWhereNodesAllow) {
  const Graph graph = gpt2_graph(options_of(2));
  const auto bound = static_cast<int>(graph.nodes().size()) - 3;
  for (int count : {1, 2, 3, 7, 20, bound}) {
    const Sharding sharding = nearest_min_deps(graph, count);
    EXPECT_EQ(sharding.count, count);
    expect_sound(graph, sharding);
  }
  EXPECT_EQ(nearest_min_deps(graph, 10000).count, bound);
}

TEST(LayerSplit, MakesAShardOfEveryBlock) {
  const Graph graph = gpt2_graph(options_of(12));
  const Sharding sharding = layer_split(graph, {});
  EXPECT_EQ(sharding.count, 14);
  expect_sound(graph, sharding);
  EXPECT_THAT(shards_of(graph, sharding, "transformer.h.10"), ElementsAre(11));
}

TEST(LayerSplit, CutsAtNamedModules) {
  const Graph graph = gpt2_graph(options_of(12));
  const Sharding sharding = layer_split(graph, {"h.1", "h.10.mlp", "lm_head"});
  EXPECT_EQ(sharding.count, 4);
  expect_sound(graph, sharding);
  EXPECT_THAT(shards_of(graph, sharding, "transformer.h.0"), ElementsAre(0));
  EXPECT_THAT(shards_of(graph, sharding, "transformer.h.1"), ElementsAre(1));
  EXPECT_THAT(shards_of(graph, sharding, "transformer.h.10.attn"),
              ElementsAre(1));
  EXPECT_THAT(shards_of(graph, sharding, "transformer.h.10.mlp"),
              ElementsAre(2));
  EXPECT_THAT(shards_of(graph, sharding, "lm_head"), ElementsAre(3));
}

TEST(LayerSplit, RefusesNamesThatFitNothing) {
  const Graph graph = gpt2_graph(options_of(2));
  for (const char* name : {"h.7", "h.1.attn.c", "ransformer.h.1"}) {
    try {
      layer_split(graph, {"h.1", name});
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }
  EXPECT_THROW(layer_split(parse(chain("")), {}), Error);
}

TEST(Sharding, CountsParameters) {
  Gpt2Options options = options_of(6);
  const Graph graph = gpt2_graph(options);
  const Sharding sharding = farthest_min_deps(graph, 16);
  const auto counts = shard_parameters(graph, sharding);
  const std::int64_t sum =
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  // The tied matrix is in the first shard and in the last.
  EXPECT_EQ(sum, gpt2_parameters(options) + std::int64_t{300} * 64);
  const auto own = parameters_of_nodes(graph);
  EXPECT_EQ(std::accumulate(own.begin(), own.end(), std::int64_t{0}),
            gpt2_parameters(options));
}

TEST(Sharding, KnowsBlocks) {
  EXPECT_EQ(block_of("transformer.h.3.attn.c_attn"), "transformer.h.3");
  EXPECT_EQ(block_of("layer1.0"), "layer1.0");
  EXPECT_EQ(block_of("transformer.ln_f"), "");
  EXPECT_EQ(block_of(""), "");
  EXPECT_EQ(count_blocks(gpt2_graph(options_of(7))), 7);
  Graph unnamed = gpt2_graph(options_of(7));
  for (std::size_t i = 0; i < unnamed.nodes().size(); ++i) {
    unnamed.node(static_cast<NodeId>(i)).module.clear();
  }
  EXPECT_EQ(count_blocks(unnamed), 7);
}

}  // namespace
}  // namespace merak::partition
