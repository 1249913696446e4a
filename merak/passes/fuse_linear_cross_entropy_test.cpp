#include "merak/passes/fuse_linear_cross_entropy.h"

#include <gmock/gmock.h>

#include "merak/passes/eliminate_dead_nodes.h"
#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using testing::expect_rewrite;
using testing::run;

bool fuse(graph::Graph& graph, const PassOptions& options) {
  const bool changed = fuse_linear_cross_entropy(graph, options);
  graph::verify(graph);
  return eliminate_dead_nodes(graph, options) || changed;
}

std::string model(const std::string& statements) {
  return R"(graph "g" {
    %x: f32[2,3,4] = user "x"
    %flat: f32[6,4] = user "flat"
    %w: f32[2050,4] = parameter "w"
    %b: f32[2050] = parameter "b"
    %t: i64[6] = user "t"
  )" + statements +
         "}";
}

const char* const kLoss = R"(
    %s: f32[], %rows: f32[6] = merak.cross_entropy_sum(%z, %t, -100) @"loss"
    return "loss_sum": %s)";

// 2050 rows are three blocks of 1024.
std::string fused(const std::string& rows, const std::string& hidden) {
  return model(rows + R"(
    %8: f32[], %9: f32[12300], %10: f32[2,3,6] = merak.linear_cross_entropy()" +
               hidden + R"(, %w, %t, -100) @"loss"
    return "loss_sum": %8)");
}

TEST(FuseLinearCrossEntropy, ThroughViewsOfLeadingDimensions) {
  for (const char* view :
       {"aten.view(%y, [-1, 2050])", "aten.reshape(%y, [6, -1])",
        "aten._unsafe_view(%y, [6, 2050])",
        "aten.flatten.using_ints(%y, 0, 1)"}) {
    graph::Graph graph = graph::parse(
        model(R"(%y: f32[2,3,2050] = aten.linear(%x, %w, none) @"head"
                 %z: f32[6,2050] = )" +
              std::string(view) + kLoss));
    EXPECT_TRUE(fuse(graph, {}));
    ASSERT_EQ(graph.nodes().size(), 2u) << print(graph);
    EXPECT_EQ(graph.nodes()[0].op, "aten.reshape");
    EXPECT_EQ(graph.value(graph.nodes()[0].results[0]).type.shape,
              (graph::Shape{6, 4}));
    EXPECT_EQ(graph.nodes()[1].op, "merak.linear_cross_entropy");
  }
}

TEST(FuseLinearCrossEntropy, WritesTheFusedOperator) {
  expect_rewrite(fuse,
                 model(R"(
    %y: f32[2,3,2050] = aten.linear(%x, %w, none)
    %z: f32[6,2050] = aten.view(%y, [-1, 2050]))" +
                       std::string(kLoss)),
                 fused("%5: f32[6,4] = aten.reshape(%x, [-1, 4])", "%5"));
}

TEST(FuseLinearCrossEntropy, AllFormsOfTheProduct) {
  for (const char* product :
       {"%z: f32[6,2050] = aten.linear(%flat, %w)",
        "%u: f32[4,2050] = aten.t(%w)\n%z: f32[6,2050] = aten.mm(%flat, %u)",
        "%u: f32[4,2050] = aten.transpose.int(%w, 0, -1)\n"
        "%z: f32[6,2050] = aten.matmul(%flat, %u)",
        "%u: f32[4,2050] = aten.permute(%w, [1, 0])\n"
        "%z: f32[6,2050] = aten.matmul(%flat, %u)"}) {
    expect_rewrite(fuse, model(std::string(product) + kLoss),
                   fused("", "%flat"));
  }
}

// Hugging Face drops the last position and casts up before the loss.
TEST(FuseLinearCrossEntropy, SlicesAndCastsActOnTheHiddenStates) {
  expect_rewrite(fuse, R"(graph "g" {
    %x: bf16[2,4,4] = user "x"
    %w: bf16[8,4] = parameter "w"
    %t: i64[6] = user "t"
    %y: bf16[2,4,8] = aten.linear(%x, %w, none)
    %wide: f32[2,4,8] = aten._to_copy(%y, f32, none, none, none, false, none)
    %cut: f32[2,3,8] = aten.slice.Tensor(%wide, 1, 0, -1, 1)
    %whole: f32[2,3,8] = aten.contiguous(%cut, 0)
    %z: f32[6,8] = aten.view(%whole, [-1, 8])
    %s: f32[], %rows: f32[6] = merak.cross_entropy_sum(%z, %t, -100)
    return "loss_sum": %s
  })",
                 R"(graph "g" {
    %x: bf16[2,4,4] = user "x"
    %w: bf16[8,4] = parameter "w"
    %t: i64[6] = user "t"
    %3: bf16[2,3,4] = aten.slice.Tensor(%x, 1, 0, -1, 1)
    %4: bf16[6,4] = aten.reshape(%3, [-1, 4])
    %5: f32[], %6: bf16[48], %7: f32[2,1,6] = merak.linear_cross_entropy(%4, %w, %t, -100)
    return "loss_sum": %5
  })");
}

TEST(FuseLinearCrossEntropy, LeavesWhatItDoesNotKnow) {
  const std::string loss = kLoss;
  for (const std::string& statements :
       {// a bias
        "%z: f32[6,2050] = aten.linear(%flat, %w, %b)" + loss,
        // read elsewhere, as a node's operand and as an output
        "%z: f32[6,2050] = aten.linear(%flat, %w, none)" + loss +
            "\n%6: i64[6] = aten.argmax(%z, 1, false)\nreturn \"a\": %6",
        "%z: f32[6,2050] = aten.linear(%flat, %w, none)" + loss +
            "\nreturn \"logits\": %z",
        // the statistics are read
        "%z: f32[6,2050] = aten.linear(%flat, %w, none)" + loss +
            "\nreturn \"rows\": %rows",
        // a matrix as it is
        "%u: f32[4,2050] = aten.reshape(%w, [4, 2050])\n"
        "%z: f32[6,2050] = aten.mm(%flat, %u)" +
            loss,
        // something between that acts on classes
        "%y: f32[6,2050] = aten.linear(%flat, %w, none)\n"
        "%z: f32[6,2050] = aten.mul.Scalar(%y, 2.0)" +
            loss,
        "%y: f32[6,2050] = aten.linear(%flat, %w, none)\n"
        "%z: f32[6,2050] = aten.slice.Tensor(%y, -1, 0, 2050, 1)" +
            loss}) {
    EXPECT_FALSE(run(fuse, model(statements)).changed) << statements;
  }
}

TEST(FuseLinearCrossEntropy, KeepsNarrowingCasts) {
  EXPECT_FALSE(run(fuse, R"(graph "g" {
    %x: f32[6,4] = user "x"
    %w: f32[8,4] = parameter "w"
    %t: i64[6] = user "t"
    %y: f32[6,8] = aten.linear(%x, %w, none)
    %z: bf16[6,8] = aten.to.dtype(%y, bf16)
    %s: f32[], %rows: f32[6] = merak.cross_entropy_sum(%z, %t, -100)
    return "loss_sum": %s
  })")
                   .changed);
}

}  // namespace
}  // namespace merak::passes
