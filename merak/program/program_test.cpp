#include <gtest/gtest.h>

#include "merak/graph/text.h"
#include "merak/graph/verify.h"
#include "merak/program/rewrite.h"
#include "merak/program/simplify_views.h"
#include "merak/program/split.h"

namespace merak::program {
namespace {

// y = relu(x W^T); the forward is the first three nodes.
constexpr const char* kRecord = R"(graph "record" {
  %x: f32[2,3] = boundary "x"
  %w: f32[4,3] = parameter "w"
  %2: f32[3,4]{1,3} = aten.t(%w)
  %3: f32[2,4] = aten.mm(%x, %2)
  %4: f32[2,4] = aten.relu(%3)
  %"grad:y": f32[2,4] = gradient "grad:y"
  %6: f32[2,4] = aten.threshold_backward(%"grad:y", %4, 0)
  %7: f32[4,2]{1,4} = aten.t(%6)
  %8: f32[4,3] = aten.mm(%7, %x)
  %9: f32[3,4]{1,3} = aten.t(%8)
  %10: f32[4,3] = aten.t(%9)
  %11: f32[4,3] = aten.t(%2)
  %12: f32[2,3] = aten.mm(%6, %11)
  return "y": %4
  return "grad:x": %12
  return "grad:w": %10
})";

std::string normal(std::string_view text) {
  return graph::print(graph::parse(text));
}

TEST(SimplifyViews, TranspositionsCancel) {
  graph::Graph record = graph::parse(kRecord);
  EXPECT_TRUE(simplify_views(record));
  EXPECT_FALSE(simplify_views(record));
  const graph::Graph weight =
      extract(record, {*record.find_output("grad:w")}, "weight");
  EXPECT_EQ(graph::print(weight), normal(R"(graph "weight" {
  %x: f32[2,3] = boundary "x"
  %w: f32[4,3] = parameter "w"
  %"grad:y": f32[2,4] = gradient "grad:y"
  %2: f32[3,4]{1,3} = aten.t(%w)
  %3: f32[2,4] = aten.mm(%x, %2)
  %4: f32[2,4] = aten.relu(%3)
  %6: f32[2,4] = aten.threshold_backward(%"grad:y", %4, 0)
  %7: f32[4,2]{1,4} = aten.t(%6)
  %8: f32[4,3] = aten.mm(%7, %x)
  return "grad:w": %8
})"));
}

TEST(SimplifyViews, ReshapeThatChangesStaysAndIdentityGoes) {
  graph::Graph graph = graph::parse(R"(graph "g" {
  %x: f32[2,3] = user "x"
  %1: f32[6] = aten.view(%x, [6])
  %2: f32[6] = aten.view(%1, [6])
  %3: f32[6] = aten.detach(%2)
  %4: f32[6] = aten.neg(%3)
  return "y": %4
})");
  simplify_views(graph);
  EXPECT_EQ(graph::print(extract(graph, graph.outputs(), "g")),
            normal(R"(graph "g" {
  %x: f32[2,3] = user "x"
  %1: f32[6] = aten.view(%x, [6])
  %4: f32[6] = aten.neg(%1)
  return "y": %4
})"));
}

TEST(SplitPrograms, ForwardSavesValuesAndBackwardMakesViewsAgain) {
  graph::Graph record = graph::parse(kRecord);
  simplify_views(record);
  const Programs programs = split_programs(record, 3);
  EXPECT_EQ(graph::print(programs.forward), normal(R"(graph "forward" {
  %x: f32[2,3] = boundary "x"
  %w: f32[4,3] = parameter "w"
  %2: f32[3,4]{1,3} = aten.t(%w)
  %3: f32[2,4] = aten.mm(%x, %2)
  %4: f32[2,4] = aten.relu(%3)
  return "y": %4
  return "saved:0": %4
})"));
  EXPECT_EQ(graph::print(programs.backward_input),
            normal(R"(graph "backward_input" {
  %"grad:y": f32[2,4] = gradient "grad:y"
  %"saved:0": f32[2,4] = boundary "saved:0"
  %w: f32[4,3] = parameter "w"
  %6: f32[2,4] = aten.threshold_backward(%"grad:y", %"saved:0", 0)
  %12: f32[2,3] = aten.mm(%6, %w)
  return "grad:x": %12
  return "stash:0": %6
})"));
  EXPECT_EQ(graph::print(programs.backward_weight),
            normal(R"(graph "backward_weight" {
  %"stash:0": f32[2,4] = boundary "stash:0"
  %x: f32[2,3] = boundary "x"
  %7: f32[4,2]{1,4} = aten.t(%"stash:0")
  %8: f32[4,3] = aten.mm(%7, %x)
  return "grad:w": %8
})"));
  EXPECT_EQ(programs.backward.nodes().size(), 4u);
  for (const graph::Graph* graph :
       {&programs.forward, &programs.backward, &programs.backward_input,
        &programs.backward_weight}) {
    EXPECT_NO_THROW(graph::verify(*graph));
  }
}

}  // namespace
}  // namespace merak::program
