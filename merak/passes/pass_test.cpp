#include "merak/passes/pass.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "merak/graph/testing/gpt2_graph.h"
#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using ::testing::HasSubstr;

graph::Graph gpt2() {
  return graph::testing::gpt2_graph({.layers = 3, .dropout = 0.1});
}

int count(const graph::Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::count_if(graph.nodes().begin(), graph.nodes().end(),
                    [&](const graph::Node& node) { return node.op == op; }));
}

TEST(Pipeline, PreparesGpt2ForTraining) {
  graph::Graph graph = gpt2();
  run_pipeline(graph, training_passes(), {});
  EXPECT_EQ(count(graph, "merak.linear_cross_entropy"), 1);
  EXPECT_EQ(count(graph, "merak.count_valid"), 1);
  // Embedding, and attention, projection, MLP a layer.
  EXPECT_EQ(count(graph, "merak.dropout"), 1 + 3 * 3);
  for (const char* gone :
       {"aten.dropout", "aten.scaled_dot_product_attention",
        "aten.cross_entropy_loss", "merak.cross_entropy_sum"}) {
    EXPECT_EQ(count(graph, gone), 0) << gone;
  }
  EXPECT_EQ(graph.outputs().size(), 2u);
}

TEST(Pipeline, KeepsBuffersOfAModelThatWrites) {
  graph::Graph graph = graph::parse(R"(graph "g" {
    %x: f32[4,3] = user "x"
    %w: f32[3] = parameter "w"
    %scale: f32[] = buffer "scale"
    %3: f32[] = aten.mul_.Scalar(%scale, 0.5) no_grad
    %4: f32[4,3] = aten.mul.Tensor(%x, %w)
    %5: f32[4,3] = aten.relu_(%4)
    %6: f32[] = aten.mean(%4, none)
    return "loss": %6
  })");
  run_pipeline(graph, training_passes(), {});
  EXPECT_EQ(count(graph, "aten.relu"), 1);
  EXPECT_NE(graph.find_output("loss_sum"), nullptr);
  EXPECT_NE(graph.find_output("buffer:scale"), nullptr);
}

TEST(Pipeline, IsDoneOnce) {
  graph::Graph graph = gpt2();
  run_pipeline(graph, training_passes(), {});
  const std::string text = print(graph);
  for (const PassReport& report : run_pipeline(graph, training_passes(), {})) {
    EXPECT_FALSE(report.changed) << report.name;
  }
  EXPECT_EQ(print(graph), text);
}

TEST(Pipeline, OptionalPassesCanBeDisabled) {
  graph::Graph graph = gpt2();
  const auto reports = run_pipeline(
      graph, training_passes(), {.disabled = {"fuse_linear_cross_entropy"}});
  EXPECT_EQ(count(graph, "merak.cross_entropy_sum"), 1);
  for (const PassReport& report : reports) {
    EXPECT_NE(report.name, "fuse_linear_cross_entropy");
    EXPECT_GE(report.seconds, 0);
  }
  EXPECT_EQ(reports.back().nodes, graph.nodes().size());
}

TEST(Pipeline, RefusesToDisableWhatMustRun) {
  for (const char* name : {"lower_dropout", "no_such_pass"}) {
    graph::Graph graph = gpt2();
    try {
      run_pipeline(graph, training_passes(), {.disabled = {name}});
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("fuse_linear_cross_entropy"));
    }
  }
}

TEST(RunPass, NamesThePassThatBreaksTheGraph) {
  graph::Graph graph = gpt2();
  const Pass broken{"broken", [](graph::Graph& g, const PassOptions&) {
                      g.set_outputs({{12345, "y"}});
                      return true;
                    }};
  try {
    run_pass(graph, broken, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_THAT(error.what(), HasSubstr("after pass broken: graph 'model'"));
  }
}

}  // namespace
}  // namespace merak::passes
