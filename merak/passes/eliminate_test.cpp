#include "merak/passes/eliminate_common_subexpressions.h"
#include "merak/passes/eliminate_dead_nodes.h"
#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using testing::expect_rewrite;
using testing::run;

TEST(EliminateDeadNodes, RemovesChainsThatNobodyReads) {
  expect_rewrite(eliminate_dead_nodes, R"(graph "g" {
    %x: f32[2] = user "x"
    %w: f32[2] = parameter "w"
    %2: f32[2] = aten.neg(%x)
    %3: f32[2], %4: f32[2] = their.own([%2, none], %x)
    %5: f32[2] = aten.neg(%w)
    %6: f32[2] = aten.neg(%5)
    return "y": %4
  })",
                 R"(graph "g" {
    %x: f32[2] = user "x"
    %w: f32[2] = parameter "w"
    %2: f32[2] = aten.neg(%x)
    %3: f32[2], %4: f32[2] = their.own([%2, none], %x)
    return "y": %4
  })");
}

TEST(EliminateDeadNodes, KeepsEffects) {
  const char* text = R"(graph "g" {
    %x: f32[2] = user "x"
    %1: f32[2] = aten.neg(%x)
    %2: f32[2] = merak.all_reduce(%1, "data")
    aten._assert_async(%1)
  })";
  EXPECT_FALSE(run(eliminate_dead_nodes, text).changed);
}

TEST(EliminateDeadNodes, KeepsWritesBeforeFunctionalisation) {
  graph::Graph graph = graph::parse(R"(graph "g" {
    %x: f32[2] = user "x"
    %1: f32[2] = aten.neg(%x)
    %2: f32[2] = aten.add_.Tensor(%1, %x, 1)
    return "y": %1
  })");
  EXPECT_FALSE(eliminate_dead_nodes(graph, {}));
}

TEST(EliminateCommonSubexpressions, MergesEqualNodesTransitively) {
  expect_rewrite(eliminate_common_subexpressions, R"(graph "g" {
    %x: f32[2] = user "x"
    %1: f32[2] = aten.neg(%x) @"a"
    %2: f32[1], %3: f32[1] = aten.split.Tensor(%1, 1, 0)
    %4: f32[2] = aten.neg(%x) @"b"
    %5: f32[1], %6: f32[1] = aten.split.Tensor(%4, 1, 0)
    %7: f32[2] = aten.cat([%2, %6], 0)
    return "y": %7
    return "z": %5
  })",
                 R"(graph "g" {
    %x: f32[2] = user "x"
    %1: f32[2] = aten.neg(%x) @"a"
    %2: f32[1], %3: f32[1] = aten.split.Tensor(%1, 1, 0)
    %7: f32[2] = aten.cat([%2, %3], 0)
    return "y": %7
    return "z": %2
  })");
}

TEST(EliminateCommonSubexpressions, KeepsWhatDiffers) {
  const char* text = R"(graph "g" {
    %x: f32[2] = user "x"
    %k: i64[4] = random "random"
    %2: f32[2] = aten.mul.Scalar(%x, 1)
    %3: f32[2] = aten.mul.Scalar(%x, 1.0)
    %4: f32[2] = aten.mul.Scalar(%x, 1) no_grad
    %5: f32[2] = aten.add.Scalar(%x, 1)
    %6: f32[2] = merak.dropout(%x, %k, 0.5, 0)
    %7: f32[2] = merak.dropout(%x, %k, 0.5, 1)
    return "y": %2
  })";
  EXPECT_FALSE(run(eliminate_common_subexpressions, text).changed);
}

TEST(EliminateCommonSubexpressions, LeavesRandomUnknownAndEffects) {
  const char* text = R"(graph "g" {
    %x: f32[2] = user "x"
    %1: f32[2] = aten.rand([2])
    %2: f32[2] = aten.rand([2])
    %3: f32[2] = their.own(%x)
    %4: f32[2] = their.own(%x)
    %5: f32[2] = merak.all_reduce(%x, "data")
    %6: f32[2] = merak.all_reduce(%x, "data")
  })";
  EXPECT_FALSE(run(eliminate_common_subexpressions, text).changed);
}

TEST(EliminateCommonSubexpressions, MergesOurDropoutOfOneSite) {
  EXPECT_TRUE(run(eliminate_common_subexpressions, R"(graph "g" {
    %x: f32[2] = user "x"
    %k: i64[4] = random "random"
    %2: f32[2] = merak.dropout(%x, %k, 0.5, 0)
    %3: f32[2] = merak.dropout(%x, %k, 0.5, 0)
    return "y": %2
    return "z": %3
  })")
                  .changed);
}

}  // namespace
}  // namespace merak::passes
