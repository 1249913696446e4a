#include "merak/partition/split_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "merak/base/error.h"
#include "merak/graph/rewriter.h"
#include "merak/graph/testing/gpt2_graph.h"
#include "merak/graph/text.h"
#include "merak/graph/verify.h"
#include "merak/partition/partition.h"
#include "merak/partition/tied.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::InputKind;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::Output;
using graph::TensorType;
using graph::ValueId;
using graph::testing::gpt2_graph;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// The stages put together again: nodes in the model's order, boundary values
// connected by name.
class Joiner {
 public:
  Joiner(const Graph& model, const StagedModel& staged)
      : model_(model), staged_(staged), joined_(model.name()) {}

  Graph run() {
    for (const graph::Input& input : model_.inputs()) {
      const ValueId id =
          joined_.add_input(input.kind, input.name,
                            model_.value(input.value).type, input.trainable);
      joined_.set_name(id, model_.value(input.value).name);
    }
    std::vector<std::pair<std::size_t, std::size_t>> place(
        model_.nodes().size(), {~std::size_t{0}, 0});
    for (std::size_t s = 0; s < staged_.stages.size(); ++s) {
      const auto& nodes = staged_.stages[s].nodes;
      for (std::size_t k = 0; k < nodes.size(); ++k) {
        EXPECT_EQ(place[index(nodes[k])].first, ~std::size_t{0});
        place[index(nodes[k])] = {s, k};
      }
    }
    for (const auto& [stage, node] : place) add(stage, node);
    for (const Output& output : model_.outputs()) join_output(output.name);
    return std::move(joined_);
  }

 private:
  const Graph& stage(std::size_t s) const { return staged_.stages[s].graph; }

  ValueId find(std::size_t s, ValueId id) {
    for (const graph::Input& input : stage(s).inputs()) {
      if (input.value != id) continue;
      if (input.kind != InputKind::kBoundary) {
        return joined_.find_input(input.kind, input.name)->value;
      }
      for (std::size_t from = 0; from < s; ++from) {
        const Output* output = stage(from).find_output(input.name);
        if (output) return find(from, output->value);
      }
    }
    return map_.at({s, id});
  }

  void add(std::size_t s, std::size_t k) {
    Node node = stage(s).nodes()[k];
    map_operands(node, [&](ValueId id) { return find(s, id); });
    std::vector<std::optional<TensorType>> types;
    for (ValueId id : node.results) {
      types.push_back(id == kNoValue ? std::nullopt
                                     : std::optional(stage(s).value(id).type));
    }
    const NodeId copy = joined_.add_node(node.op, node.arguments, types,
                                         node.module, node.grad_enabled);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] == kNoValue) continue;
      const ValueId id = joined_.node(copy).results[i];
      const std::string& name = stage(s).value(node.results[i]).name;
      if (name != std::to_string(node.results[i])) joined_.set_name(id, name);
      map_[{s, node.results[i]}] = id;
    }
  }

  void join_output(const std::string& name) {
    for (std::size_t s = 0; s < staged_.stages.size(); ++s) {
      const Output* output = stage(s).find_output(name);
      if (output) return joined_.add_output(find(s, output->value), name);
    }
    ADD_FAILURE() << "output " << name << " is in no stage";
  }

  const Graph& model_;
  const StagedModel& staged_;
  Graph joined_;
  std::map<std::pair<std::size_t, ValueId>, ValueId> map_;
};

// The model with its inputs first, as the joiner makes it.
Graph inputs_first(const Graph& model) {
  graph::Rewriter rewriter(model);
  for (std::size_t i = 0; i < model.nodes().size(); ++i) {
    rewriter.copy(static_cast<NodeId>(i));
  }
  return rewriter.finish();
}

void expect_same_model(const Graph& model, const StagedModel& staged) {
  for (const StageGraph& stage : staged.stages) {
    verify(stage.graph);
    EXPECT_EQ(print(graph::parse(print(stage.graph))), print(stage.graph));
  }
  EXPECT_EQ(print(Joiner(model, staged).run()), print(inputs_first(model)));
}

std::vector<std::string> names_of(const Graph& graph, InputKind kind) {
  std::vector<std::string> names;
  for (const graph::Input& input : graph.inputs()) {
    if (input.kind == kind) names.push_back(input.name);
  }
  return names;
}

TEST(SplitStages, JoinedStagesAreTheModel) {
  for (bool mask : {false, true}) {
    const Graph model = gpt2_graph({.layers = 6, .addmm = true, .mask = mask});
    for (auto sharding :
         {ShardingMethod::kFarthestMinDeps, ShardingMethod::kNearestMinDeps}) {
      for (int stages : {1, 2, 3, 6, 9}) {
        const Partition partition =
            partition_model(model, {.stages = stages, .sharding = sharding});
        const StagedModel staged =
            split_stages(model, partition.stage_of_node, stages);
        ASSERT_THAT(staged.stages, SizeIs(stages));
        expect_same_model(model, staged);
      }
    }
  }
}

TEST(SplitStages, AGptStageSendsOneHiddenState) {
  const Graph model = gpt2_graph({.layers = 6, .mask = true});
  const Partition partition = partition_model(model, {.stages = 4});
  const StagedModel staged = split_stages(model, partition.stage_of_node, 4);
  ASSERT_THAT(staged.edges, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    const Edge& edge = staged.edges[index(i)];
    EXPECT_EQ(edge.source, i);
    EXPECT_EQ(edge.destination, i + 1);
    ASSERT_THAT(edge.values, SizeIs(1));
    EXPECT_TRUE(edge.values[0].gradient);
    EXPECT_EQ(edge.values[0].type, (TensorType{DType::kF32, {2, 4, 8}, {}}));
  }
  // Inputs are loaded where they are read.
  EXPECT_THAT(names_of(staged.stages[0].graph, InputKind::kUser),
              ElementsAre("input_ids", "attention_mask"));
  EXPECT_THAT(names_of(staged.stages[1].graph, InputKind::kUser),
              ElementsAre("attention_mask"));
  EXPECT_THAT(names_of(staged.stages[3].graph, InputKind::kUser),
              ElementsAre("labels", "attention_mask"));
  EXPECT_EQ(staged.stages[3].graph.outputs().size(), 1u);
}

TEST(SplitStages, TiedParametersAreInEveryStageThatReadsThem) {
  const Graph model = gpt2_graph({.layers = 6});
  const Partition partition = partition_model(model, {.stages = 3});
  const auto tied =
      tied_parameters(split_stages(model, partition.stage_of_node, 3));
  ASSERT_THAT(tied, SizeIs(1));
  EXPECT_EQ(tied[0].name, "transformer.wte.weight");
  EXPECT_THAT(tied[0].stages, ElementsAre(0, 2));

  const Graph untied = gpt2_graph({.layers = 6, .tied = false});
  const Partition other = partition_model(untied, {.stages = 3});
  EXPECT_THAT(tied_parameters(split_stages(untied, other.stage_of_node, 3)),
              IsEmpty());
}

const char* const kSkips = R"(graph "skips" {
  %x: f32[2] = user "x"
  %w: f32[2] = parameter "w"
  %unused: f32[3] = parameter "unused"
  %state: f32[3] = buffer "state"
  %frozen: f32[2] = parameter "frozen" frozen
  %key: i64[4] = random "random"
  %6: f32[2] = aten.mul.Tensor(%x, %w)
  %named: i64[2] = aten.argmax(%6, 0, true)
  %8: f32[2] = aten.mul.Tensor(%x, %frozen)
  %9: f32[2] = merak.dropout(%6, %key, 0.5, 0)
  %10: f32[2] = aten.where.self(%named, %6, %8)
  %11: f32[2] = merak.dropout(%10, %key, 0.5, 1)
  return "early": %6
  return "y": %11
  return "mid": %9
  return "x": %x
}
)";

TEST(SplitStages, ValuesTravelStraightToTheirReaders) {
  const Graph model = graph::parse(kSkips);
  const StagedModel staged = split_stages(model, {0, 0, 0, 1, 2, 2}, 3);
  expect_same_model(model, staged);
  ASSERT_THAT(staged.edges, SizeIs(2));
  EXPECT_EQ(staged.edges[0].destination, 1);
  ASSERT_THAT(staged.edges[0].values, SizeIs(1));
  EXPECT_EQ(staged.edges[0].values[0].name, "v.6");
  EXPECT_EQ(staged.edges[1].source, 0);
  EXPECT_EQ(staged.edges[1].destination, 2);
  ASSERT_THAT(staged.edges[1].values, SizeIs(3));
  EXPECT_TRUE(staged.edges[1].values[0].gradient);   // %6
  EXPECT_FALSE(staged.edges[1].values[1].gradient);  // integers
  EXPECT_FALSE(staged.edges[1].values[2].gradient);  // of frozen parameters
  EXPECT_EQ(print(staged.stages[2].graph), R"(graph "skips.stage2" {
  %key: i64[4] = random "random"
  %v.6: f32[2] = boundary "v.6"
  %v.named: i64[2] = boundary "v.named" frozen
  %v.8: f32[2] = boundary "v.8" frozen
  %4: f32[2] = aten.where.self(%v.named, %v.6, %v.8)
  %5: f32[2] = merak.dropout(%4, %key, 0.5, 1)
  return "y": %5
}
)");
  EXPECT_THAT(names_of(staged.stages[1].graph, InputKind::kRandom),
              ElementsAre("random"));
  EXPECT_THAT(names_of(staged.stages[0].graph, InputKind::kRandom), IsEmpty());
}

TEST(SplitStages, StateThatNothingReadsStaysInStageZero) {
  const StagedModel staged =
      split_stages(graph::parse(kSkips), {0, 0, 0, 1, 2, 2}, 3);
  EXPECT_THAT(names_of(staged.stages[0].graph, InputKind::kParameter),
              ElementsAre("w", "unused", "frozen"));
  EXPECT_THAT(names_of(staged.stages[0].graph, InputKind::kBuffer),
              ElementsAre("state"));
}

TEST(SplitStages, RefusesAReaderBeforeItsProducer) {
  const Graph model = graph::parse(kSkips);
  for (const std::vector<int>& stages : {std::vector<int>{1, 0, 0, 1, 1, 1},
                                         {0, 0, 0, 0, 0, 0},
                                         {0, 0, 0, 1, 2, 2},
                                         {0, 0, 1, 1, 1}}) {
    try {
      split_stages(model, stages, 2);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    }
  }
}

}  // namespace
}  // namespace merak::partition
