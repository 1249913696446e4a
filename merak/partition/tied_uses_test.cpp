#include "merak/partition/tied_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "merak/graph/testing/gpt2_graph.h"
#include "merak/graph/text.h"
#include "merak/graph/verify.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::InputKind;
using ::testing::ElementsAre;

// "w" is read in the shards 0, 1 and 3, twice in the last; "b" in one shard
// alone, "unread" in none. Each node is a shard, but the last two are one.
constexpr const char* kModel = R"(graph "tied" {
  %x: f32[2] = user "x"
  %w: f32[2] = parameter "w"
  %b: f32[2] = parameter "b"
  %unread: f32[2] = parameter "unread"
  %0: f32[2] = aten.mul.Tensor(%x, %w) @"first"
  %1: f32[2] = aten.mul.Tensor(%0, %w)
  %2: f32[2] = aten.add.Tensor(%1, %b, 1) no_grad
  %3: f32[2] = aten.mul.Tensor(%2, %w)
  %4: f32[4] = aten.cat([%3, none, %w], 0)
  return "y": %4
}
)";
const std::vector<int> kShards = {0, 1, 2, 3, 3};

StagedModel separated(const Graph& model, const Sharding& sharding,
                      const std::vector<int>& stage_of_node) {
  const int stages = stage_of_node.back() + 1;
  StagedModel staged = split_stages(model, stage_of_node, stages);
  separate_tied_uses(staged, sharding);
  for (const StageGraph& stage : staged.stages) verify(stage.graph);
  return staged;
}

std::vector<std::string> parameters(const Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Input& input : graph.inputs()) {
    if (input.kind == InputKind::kParameter) names.push_back(input.name);
  }
  return names;
}

TEST(TiedUses, EveryReadingShardHasAnInput) {
  const Graph model = graph::parse(kModel);
  const StagedModel staged =
      separated(model, {kShards, 4}, std::vector<int>(5, 0));
  EXPECT_EQ(print(graph::parse(print(staged.stages[0].graph))),
            print(graph::parse(R"(graph "tied.stage0" {
    %0: f32[2] = user "x"
    %1: f32[2] = parameter "w"
    %2: f32[2] = parameter "w#1"
    %3: f32[2] = parameter "w#2"
    %4: f32[2] = parameter "b"
    %5: f32[2] = parameter "unread"
    %6: f32[2] = aten.mul.Tensor(%0, %1) @"first"
    %7: f32[2] = aten.mul.Tensor(%6, %2)
    %8: f32[2] = aten.add.Tensor(%7, %4, 1) no_grad
    %9: f32[2] = aten.mul.Tensor(%8, %3)
    %10: f32[4] = aten.cat([%9, none, %3], 0)
    return "y": %10
  })")));
}

// The number of a use is its place in the whole model, so the sum of the
// gradients has the same order wherever the shards lie.
TEST(TiedUses, NumbersDoNotDependOnTheStages) {
  const Graph model = graph::parse(kModel);
  const StagedModel three = separated(model, {kShards, 4}, {0, 1, 1, 2, 2});
  EXPECT_THAT(parameters(three.stages[0].graph), ElementsAre("w", "unread"));
  EXPECT_THAT(parameters(three.stages[1].graph), ElementsAre("w#1", "b"));
  EXPECT_THAT(parameters(three.stages[2].graph), ElementsAre("w#2"));
  const StagedModel two = separated(model, {kShards, 4}, {0, 0, 1, 1, 1});
  EXPECT_THAT(parameters(two.stages[0].graph),
              ElementsAre("w", "w#1", "unread"));
  EXPECT_THAT(parameters(two.stages[1].graph), ElementsAre("w#2", "b"));
}

TEST(TiedUses, MayBeReturnedToo) {
  std::string text = kModel;
  text.replace(text.find("return"), 6, "return \"w\": %w\nreturn");
  const StagedModel staged =
      separated(graph::parse(text), {kShards, 4}, std::vector<int>(5, 0));
  const Graph& graph = staged.stages[0].graph;
  const graph::Output* output = graph.find_output("w");
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(output->value, graph.find_input(InputKind::kParameter, "w")->value);
}

TEST(TiedUses, OneShardReadsOften) {
  const Graph model = graph::parse(kModel);
  const StagedModel staged =
      separated(model, {std::vector<int>(5, 0), 1}, std::vector<int>(5, 0));
  EXPECT_THAT(parameters(staged.stages[0].graph),
              ElementsAre("w", "b", "unread"));
}

TEST(TiedUses, WhatIsFrozenStaysFrozen) {
  std::string text = kModel;
  const std::string trainable = "parameter \"w\"";
  text.replace(text.find(trainable), trainable.size(), trainable + " frozen");
  const StagedModel staged =
      separated(graph::parse(text), {kShards, 4}, {0, 0, 0, 1, 1});
  for (const char* use : {"w", "w#1"}) {
    const graph::Input* input =
        staged.stages[0].graph.find_input(InputKind::kParameter, use);
    ASSERT_NE(input, nullptr) << use;
    EXPECT_FALSE(input->trainable) << use;
  }
  EXPECT_TRUE(
      staged.stages[0].graph.find_input(InputKind::kParameter, "b")->trainable);
}

// GPT-2's embedding is read first and last; nothing else is separated.
TEST(TiedUses, GptHasTwoUsesOfItsEmbedding) {
  for (const int stages : {1, 2, 4}) {
    const Graph model = graph::testing::gpt2_graph({.layers = 4});
    const Partition partition = partition_model(model, {.stages = stages});
    const StagedModel staged =
        separated(model, partition.sharding, partition.stage_of_node);
    std::multiset<std::string> tied, names;
    for (const StageGraph& stage : staged.stages) {
      for (const std::string& name : parameters(stage.graph)) {
        names.insert(parameter_of_use(name));
        if (name != parameter_of_use(name)) tied.insert(name);
      }
    }
    const std::string embedding = "transformer.wte.weight";
    EXPECT_THAT(tied, ElementsAre(use_name(embedding, 1)));
    EXPECT_EQ(names.count(embedding), 2U);
    EXPECT_EQ(names.size(), parameters(model).size() + 1);
  }
}

TEST(TiedUses, NamesGoBothWays) {
  EXPECT_EQ(use_name("a.b", 0), "a.b");
  EXPECT_EQ(use_name("a.b", 12), "a.b#12");
  for (const int use : {0, 1, 12}) {
    EXPECT_EQ(parameter_of_use(use_name("a.b", use)), "a.b");
  }
}

}  // namespace
}  // namespace merak::partition
