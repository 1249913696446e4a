#include "merak/passes/lower_dropout.h"

#include <gmock/gmock.h>

#include "merak/passes/check_randomness.h"
#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using testing::expect_rewrite;
using ::testing::HasSubstr;
using testing::run;
using testing::usage_failure;

TEST(LowerDropout, NumbersTheSites) {
  expect_rewrite(lower_dropout, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.dropout(%x, 0.1, true) @"a"
    %2: f32[2,3] = aten.neg(%1)
    %3: f32[2,3] = aten.dropout(%2, 0.5, true) @"b" no_grad
    return "y": %3
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %random: i64[4] = random "random"
    %2: f32[2,3] = merak.dropout(%x, %random, 0.1, 0) @"a"
    %3: f32[2,3] = aten.neg(%2)
    %4: f32[2,3] = merak.dropout(%3, %random, 0.5, 1) @"b" no_grad
    return "y": %4
  })");
}

TEST(LowerDropout, GoesOnWhereItStopped) {
  expect_rewrite(lower_dropout, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %random: i64[4] = random "random"
    %2: f32[2,3] = merak.dropout(%x, %random, 0.1, 6)
    %3: f32[2,3] = aten.dropout(%2, 0.5, true)
    return "y": %3
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %random: i64[4] = random "random"
    %2: f32[2,3] = merak.dropout(%x, %random, 0.1, 6)
    %3: f32[2,3] = merak.dropout(%2, %random, 0.5, 7)
    return "y": %3
  })");
}

TEST(LowerDropout, EvaluationAndRateZeroLeaveTheOperand) {
  for (const char* arguments : {"0.1, false", "0.0, true", "0, true"}) {
    expect_rewrite(lower_dropout,
                   std::string(R"(graph "g" {
      %x: f32[2,3] = user "x"
      %1: f32[2,3] = aten.dropout(%x, )") +
                       arguments + R"()
      return "y": %1
    })",
                   R"(graph "g" {
      %x: f32[2,3] = user "x"
      return "y": %x
    })");
  }
}

TEST(LowerDropout, RateOneLeavesZeros) {
  expect_rewrite(lower_dropout, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.dropout(%x, 1.0, true)
    return "y": %1
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.mul.Scalar(%x, 0.0)
    return "y": %1
  })");
}

TEST(LowerDropout, DropsChannels) {
  expect_rewrite(lower_dropout, R"(graph "g" {
    %x: f32[2,3,5,5] = user "x"
    %1: f32[2,3,5,5] = aten.feature_dropout(%x, 0.2, true)
    return "y": %1
  })",
                 R"(graph "g" {
    %x: f32[2,3,5,5] = user "x"
    %1: f32[2,3,1,1] = aten.ones([2, 3, 1, 1], f32, none, none, none)
    %random: i64[4] = random "random"
    %3: f32[2,3,1,1] = merak.dropout(%1, %random, 0.2, 0)
    %4: f32[2,3,5,5] = aten.mul.Tensor(%x, %3)
    return "y": %4
  })");
}

std::string attention(const std::string& arguments) {
  return R"(graph "g" {
    %q: f32[2,4,3,16] = user "q"
    %k: f32[2,4,5,16] = user "k"
    %v: f32[2,4,5,8] = user "v"
    %keep: bool[3,5] = user "keep"
    %bias: f32[3,5] = user "bias"
    %random: i64[4] = random "random"
    %6: f32[2,4,3,8] = aten.scaled_dot_product_attention(%q, %k, %v, )" +
         arguments + R"() @"attn"
    return "y": %6
  })";
}

std::string decomposed(const std::string& scale, const std::string& mask,
                       const std::string& softmax) {
  return R"(graph "g" {
    %q: f32[2,4,3,16] = user "q"
    %k: f32[2,4,5,16] = user "k"
    %v: f32[2,4,5,8] = user "v"
    %keep: bool[3,5] = user "keep"
    %bias: f32[3,5] = user "bias"
    %random: i64[4] = random "random"
    %6: f32[2,4,3,16] = aten.mul.Scalar(%q, )" +
         scale + R"() @"attn"
    %7: f32[2,4,16,5] = aten.transpose.int(%k, -2, -1) @"attn"
    %8: f32[2,4,3,5] = aten.matmul(%6, %7) @"attn"
    )" + mask +
         "%90: f32[2,4,3,5] = " + softmax + R"(, -1, none) @"attn"
    %91: f32[2,4,3,5] = merak.dropout(%90, %random, 0.1, 0) @"attn"
    %92: f32[2,4,3,8] = aten.matmul(%91, %v) @"attn"
    return "y": %92
  })";
}

TEST(LowerDropout, TakesAttentionApart) {
  expect_rewrite(lower_dropout, attention("none, 0.1, false, none, false"),
                 decomposed("0.25", "", "aten.softmax.int(%8"));
  expect_rewrite(lower_dropout, attention("%keep, 0.1, false, 0.5"),
                 decomposed("0.5", R"(
    %9: bool[3,5] = aten.logical_not(%keep) @"attn"
    %10: f32[2,4,3,5] = aten.masked_fill.Scalar(%8, %9, -inf) @"attn"
    )",
                            "aten._safe_softmax(%10"));
  expect_rewrite(lower_dropout, attention("%bias, 0.1"),
                 decomposed("0.25", R"(
    %9: f32[2,4,3,5] = aten.add.Tensor(%8, %bias, 1) @"attn"
    )",
                            "aten._safe_softmax(%9"));
  expect_rewrite(lower_dropout, attention("none, 0.1, true"),
                 decomposed("0.25", R"(
    %9: bool[3,5] = aten.ones([3, 5], bool, none, none, none) @"attn"
    %10: bool[3,5] = aten.triu(%9, 1) @"attn"
    %11: f32[2,4,3,5] = aten.masked_fill.Scalar(%8, %10, -inf) @"attn"
    )",
                            "aten.softmax.int(%11"));
}

TEST(LowerDropout, RepeatsGroupedHeads) {
  const auto outcome = run(lower_dropout, R"(graph "g" {
    %q: f32[2,4,3,16] = user "q"
    %k: f32[2,2,3,16] = user "k"
    %v: f32[2,2,3,16] = user "v"
    %3: f32[2,4,3,16] = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.1, true, none, true)
    return "y": %3
  })");
  EXPECT_THAT(outcome.text,
              HasSubstr("%4: f32[2,4,3,16] = "
                        "aten.repeat_interleave.self_int(%k, 2, -3, none)"));
  EXPECT_THAT(outcome.text,
              HasSubstr("aten.repeat_interleave.self_int(%v, 2, -3, none)"));
}

TEST(LowerDropout, LeavesAttentionWithoutDropout) {
  EXPECT_FALSE(run(lower_dropout, attention("none, 0.0, true")).changed);
}

TEST(CheckRandomness, NamesWhatItRefuses) {
  EXPECT_THAT(usage_failure(check_randomness, R"(graph "g" {
    %0: f32[2] = aten.rand([2]) @"noise"
  })"),
              HasSubstr("with aten.rand in module 'noise'"));
  EXPECT_EQ(usage_failure(check_randomness, R"(graph "g" {
    %x: f32[2] = user "x"
    %k: i64[4] = random "random"
    %2: f32[2] = merak.dropout(%x, %k, 0.5, 0)
  })"),
            "");
}

}  // namespace
}  // namespace merak::passes
