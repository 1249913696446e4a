#include "merak/graph/ops/catalogue.h"

#include <gtest/gtest.h>

#include <string>

#include "merak/graph/testing/gpt2_graph.h"
#include "merak/graph/text.h"

namespace merak::graph {
namespace {

// A graph with the usual inputs around one statement.
Graph around(const std::string& statement) {
  return parse(R"(graph "g" {
    %i: i64[2,3] = user "i"
    %x: f32[2,3,8] = user "x"
    %a: f32[6,8] = user "a"
    %b: f32[8,5] = user "b"
    %w: f32[5,8] = parameter "w"
    %v: f32[5] = parameter "v"
    %q: f32[2,4,3,8] = user "q"
    %k: f32[2,4,7,8] = user "k"
    %image: f32[2,4,9,9] = user "image"
    %kernel: f32[6,2,3,3] = parameter "kernel"
    %l: i64[6] = user "l"
  )" + statement +
               "}");
}

double flops_of(const std::string& statement) {
  const Graph graph = around(statement);
  return flops(graph, graph.nodes().back());
}

double bytes_of(const std::string& statement) {
  const Graph graph = around(statement);
  return bytes_moved(graph, graph.nodes().back());
}

Node node_of(const std::string& statement) {
  return around(statement).nodes().back();
}

TEST(Flops, OfMatrixProducts) {
  EXPECT_EQ(flops_of("%1: f32[6,5] = aten.mm(%a, %b)"), 2 * 6 * 5 * 8);
  EXPECT_EQ(flops_of("%1: f32[6,5] = aten.addmm(%v, %a, %b, 1, 1)"),
            2 * 6 * 5 * 8 + 6 * 5);
  EXPECT_EQ(flops_of("%1: f32[2,3,5] = aten.linear(%x, %w, none)"),
            2 * 6 * 5 * 8);
  EXPECT_EQ(flops_of("%1: f32[2,3,5] = aten.linear(%x, %w, %v)"),
            2 * 6 * 5 * 8 + 6 * 5);
  EXPECT_EQ(flops_of("%1: f32[2,3,5] = aten.matmul(%x, %b)"), 2 * 6 * 5 * 8);
  EXPECT_EQ(flops_of("%1: f32[] = aten.dot(%v, %v)"), 2 * 5);
}

TEST(Flops, OfConvolutions) {
  // Two groups: an output element sums 2 * 3 * 3 products.
  EXPECT_EQ(flops_of("%1: f32[2,6,7,7] = aten.convolution(%image, %kernel, "
                     "none, [1, 1], [0, 0], [1, 1], false, [0, 0], 2)"),
            2.0 * (2 * 6 * 7 * 7) * (2 * 3 * 3));
  EXPECT_EQ(flops_of("%1: f32[2,6,7,7] = aten.conv2d(%image, %kernel)"),
            2.0 * (2 * 6 * 7 * 7) * (2 * 3 * 3));
}

TEST(Flops, OfAttention) {
  const double scores = 2 * 4 * 3 * 7;
  const char* text =
      "%1: f32[2,4,3,8] = aten.scaled_dot_product_attention(%q, %k, %k, none, "
      "0.0, ";
  EXPECT_EQ(flops_of(std::string(text) + "false)"),
            scores * (2 * 8 + 2 * 8 + 5));
  EXPECT_EQ(flops_of(std::string(text) + "true)"),
            scores * (2 * 8 + 2 * 8 + 5) / 2);
}

TEST(Flops, OfFusedHead) {
  const std::string shapes = "%1: f32[] , %2: f32[30], %3: f32[2,1,6] = ";
  EXPECT_EQ(flops_of(shapes + "merak.linear_cross_entropy(%a, %w, %l, -100)"),
            2 * 6 * 5 * 8 + 13 * 6 * 5);
  EXPECT_EQ(flops_of("%1: f32[6,8], %2: f32[5,8] = "
                     "merak.linear_cross_entropy_backward(%v, %a, %w, %l)"),
            2 * (2 * 6 * 5 * 8));
  EXPECT_EQ(flops_of("%1: f32[6,8], _ = "
                     "merak.linear_cross_entropy_backward(%v, %a, %w, %l)"),
            2 * 6 * 5 * 8);
}

TEST(Flops, OfUnknownOperatorsBySize) {
  EXPECT_EQ(find_op("their.own"), nullptr);
  EXPECT_EQ(flops_of("%1: f32[6,5], _, %2: f32[2] = their.own(%a)"), 32);
  EXPECT_EQ(bytes_of("%1: f32[6,5], _, %2: f64[2] = their.own(%a, [%b, none])"),
            4 * (30 + 48 + 40) + 16);
}

TEST(Bytes, FollowWhatIsTouched) {
  EXPECT_EQ(bytes_of("%1: f32[48] = aten.view(%a, [48])"), 0);
  EXPECT_EQ(
      bytes_of("%1: f32[2,3,8] = aten.embedding(%w, %i, -1, false, false)"),
      2 * 4 * 48);
  EXPECT_EQ(bytes_of("%1: f32[6,8] = aten.add.Tensor(%a, %a, 1)"), 3 * 4 * 48);
  EXPECT_EQ(bytes_of("%1: f32[6,8] = aten.zeros([6, 8])"), 4 * 48);
}

TEST(Lookup, CoversOverloadsAndInPlaceForms) {
  const OpInfo* add = find_op("aten.add");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(find_op("aten.add.Tensor"), add);
  EXPECT_EQ(find_op("aten.add_.Scalar"), add);
  EXPECT_EQ(find_op("aten.__and__.Tensor")->name, "aten.__and__");
  EXPECT_EQ(find_op("aten"), nullptr);
  EXPECT_EQ(find_op("aten.addx"), nullptr);
}

TEST(Lookup, KnowsEveryOperatorOfGpt2) {
  for (bool addmm : {false, true}) {
    const Graph graph =
        testing::gpt2_graph({.dropout = 0.1, .addmm = addmm, .mask = true});
    for (const Node& node : graph.nodes()) {
      EXPECT_NE(find_op(node.op), nullptr) << node.op;
    }
  }
}

TEST(Flags, Randomness) {
  EXPECT_TRUE(is_random(node_of("%1: f32[5] = aten.dropout(%v, 0.1, true)")));
  EXPECT_FALSE(is_random(node_of("%1: f32[5] = aten.dropout(%v, 0.0, true)")));
  EXPECT_TRUE(is_random(node_of("%1: f32[5] = aten.rand([5])")));
  const std::string attention =
      "%1: f32[2,4,3,8] = aten.scaled_dot_product_attention(%q, %k, %k, none, ";
  EXPECT_TRUE(is_random(node_of(attention + "0.1)")));
  EXPECT_FALSE(is_random(node_of(attention + "0.0)")));
  EXPECT_FALSE(
      is_random(node_of("%1: f32[5] = merak.dropout(%v, %l, 0.1, 0)")));
}

TEST(Flags, PurityAndEffects) {
  EXPECT_TRUE(is_pure(node_of("%1: f32[5] = aten.neg(%v)")));
  EXPECT_FALSE(is_pure(node_of("%1: f32[5] = their.own(%v)")));
  EXPECT_FALSE(is_pure(node_of("%1: f32[5] = aten.neg_(%v)")));
  EXPECT_FALSE(is_pure(node_of("%1: f32[5] = aten.rand([5])")));
  const Node reduce = node_of("%1: f32[5] = merak.all_reduce(%v)");
  EXPECT_TRUE(has_effect(reduce));
  EXPECT_FALSE(is_pure(reduce));
}

TEST(Flags, Aliases) {
  EXPECT_TRUE(is_view(node_of("%1: f32[8,6] = aten.t(%a)")));
  EXPECT_EQ(alias_of(node_of("%1: f32[48] = aten.reshape(%a, [48])")),
            Alias::kMaybe);
  EXPECT_EQ(alias_of(node_of("%1: f32[6,8] = aten.clone(%a)")), Alias::kNone);
}

// The common estimate: 2 operations a weight and token, plus attention.
TEST(GraphFlops, OfGpt2IsNearTwoPerParameterAndToken) {
  const testing::Gpt2Options options{.layers = 3,
                                     .hidden = 512,
                                     .heads = 8,
                                     .vocabulary = 4096,
                                     .positions = 64,
                                     .batch = 2,
                                     .sequence = 64};
  const double tokens = 2 * 64;
  const double blocks = 3.0 * 12 * 512 * 512;
  const double head = 4096.0 * 512;
  const double products = 2 * tokens * (blocks + head);
  const double total = graph_flops(testing::gpt2_graph(options));
  EXPECT_GT(total, products);
  EXPECT_LT(total, 1.05 * products);
}

}  // namespace
}  // namespace merak::graph
