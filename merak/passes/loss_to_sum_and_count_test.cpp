#include "merak/passes/loss_to_sum_and_count.h"

#include <gmock/gmock.h>

#include "merak/passes/eliminate_dead_nodes.h"
#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using testing::expect_rewrite;
using ::testing::HasSubstr;
using testing::run;
using testing::usage_failure;

// As in a pipeline: the loss that was replaced goes.
bool rewrite(graph::Graph& graph, const PassOptions& options) {
  const bool changed = loss_to_sum_and_count(graph, options);
  graph::verify(graph);
  return eliminate_dead_nodes(graph, options) || changed;
}

std::string model(const std::string& statements) {
  return R"(graph "g" {
    %logits: f32[6,8] = user "logits"
    %labels: i64[6] = user "labels"
    %weights: f32[8] = buffer "weights"
  )" + statements +
         "}";
}

const std::string kFlat = model(R"(
    %3: f32[], %4: f32[6] = merak.cross_entropy_sum(%logits, %labels, -100) @"m"
    %5: i64[] = merak.count_valid(%labels, -100) @"m"
    return "loss_sum": %3
    return "count": %5
)");

TEST(LossToSumAndCount, MeanCrossEntropy) {
  expect_rewrite(rewrite, model(R"(
    %3: f32[] = aten.cross_entropy_loss(%logits, %labels, none, 1, -100, 0.0) @"m"
    return "loss": %3)"),
                 kFlat);
}

TEST(LossToSumAndCount, SumAndMissingDefaults) {
  for (const char* rest : {", none, 2, -100, 0.0", ", none, 1", ""}) {
    expect_rewrite(rewrite,
                   model(std::string(R"(
      %3: f32[] = aten.cross_entropy_loss(%logits, %labels)") +
                         rest + R"() @"m"
      return "loss": %3)"),
                   kFlat);
  }
}

TEST(LossToSumAndCount, LogSoftmaxAndNegativeLogLikelihood) {
  expect_rewrite(rewrite, model(R"(
    %3: f32[6,8] = aten._log_softmax(%logits, -1, false)
    %4: f32[], %5: f32[] = aten.nll_loss_forward(%3, %labels, none, 1, -100) @"m"
    return "loss": %4)"),
                 kFlat);
  expect_rewrite(rewrite, model(R"(
    %3: f32[6,8] = aten.log_softmax.int(%logits, 1, none)
    %4: f32[] = aten.nll_loss_nd(%3, %labels, none, 1, -100) @"m"
    return "loss": %4)"),
                 kFlat);
}

TEST(LossToSumAndCount, ThroughCastsOfTheScalar) {
  expect_rewrite(rewrite, model(R"(
    %3: f32[] = aten.cross_entropy_loss(%logits, %labels, none, 1, -100, 0.0) @"m"
    %4: f64[] = aten._to_copy(%3, f64, none, none, none, false, none)
    %5: f64[] = aten.view(%4, [])
    return "loss": %5)"),
                 kFlat);
}

TEST(LossToSumAndCount, OtherOutputsGoUnlessWanted) {
  const std::string before = model(R"(
    %3: f32[] = aten.cross_entropy_loss(%logits, %labels, none, 1, 7, 0.0)
    %4: f32[8] = aten.neg(%weights)
    return "logits": %logits
    return "loss": %3
    return "buffer:weights": %4)");
  expect_rewrite(rewrite, before, model(R"(
    %3: f32[8] = aten.neg(%weights)
    %4: f32[], %5: f32[6] = merak.cross_entropy_sum(%logits, %labels, 7)
    %6: i64[] = merak.count_valid(%labels, 7)
    return "loss_sum": %4
    return "count": %6
    return "buffer:weights": %3)"));
  const auto kept = run(rewrite, before, {.loss_only = false});
  EXPECT_THAT(kept.text, HasSubstr("return \"logits\": %logits"));
}

TEST(LossToSumAndCount, BringsOtherRanksToRows) {
  expect_rewrite(rewrite, R"(graph "g" {
    %x: f64[2,8,3,5] = user "x"
    %t: i64[2,3,5] = user "t"
    %2: f64[] = aten.cross_entropy_loss(%x, %t, none, 1, -100, 0.0)
    return "loss": %2
  })",
                 R"(graph "g" {
    %x: f64[2,8,3,5] = user "x"
    %t: i64[2,3,5] = user "t"
    %2: f64[2,3,5,8] = aten.permute(%x, [0, 2, 3, 1])
    %3: f64[30,8] = aten.reshape(%2, [-1, 8])
    %4: i64[30] = aten.reshape(%t, [-1])
    %5: f64[], %6: f64[30] = merak.cross_entropy_sum(%3, %4, -100)
    %7: i64[] = merak.count_valid(%4, -100)
    return "loss_sum": %5
    return "count": %7
  })");
  expect_rewrite(rewrite, R"(graph "g" {
    %x: f32[8] = user "x"
    %t: i64[] = user "t"
    %2: f32[] = aten.cross_entropy_loss(%x, %t, none, 1, -100, 0.0)
    return "loss": %2
  })",
                 R"(graph "g" {
    %x: f32[8] = user "x"
    %t: i64[] = user "t"
    %2: f32[1,8] = aten.reshape(%x, [-1, 8])
    %3: i64[1] = aten.reshape(%t, [-1])
    %4: f32[], %5: f32[1] = merak.cross_entropy_sum(%2, %3, -100)
    %6: i64[] = merak.count_valid(%3, -100)
    return "loss_sum": %4
    return "count": %6
  })");
}

TEST(LossToSumAndCount, TakesATransposeForTheLossBack) {
  expect_rewrite(rewrite, R"(graph "g" {
    %x: bf16[2,3,8] = user "x"
    %t: i64[2,3] = user "t"
    %2: bf16[2,8,3] = aten.transpose.int(%x, -1, 1)
    %3: bf16[] = aten.cross_entropy_loss(%2, %t, none, 1, -100, 0.0)
    return "loss": %3
  })",
                 R"(graph "g" {
    %x: bf16[2,3,8] = user "x"
    %t: i64[2,3] = user "t"
    %2: bf16[6,8] = aten.reshape(%x, [-1, 8])
    %3: i64[6] = aten.reshape(%t, [-1])
    %4: f32[], %5: f32[6] = merak.cross_entropy_sum(%2, %3, -100)
    %6: i64[] = merak.count_valid(%3, -100)
    return "loss_sum": %4
    return "count": %6
  })");
}

TEST(LossToSumAndCount, KeepsATransposeOfOtherDimensions) {
  const auto outcome = run(rewrite, R"(graph "g" {
    %x: f32[8,5,2] = user "x"
    %t: i64[2,8] = user "t"
    %2: f32[2,5,8] = aten.transpose.int(%x, 0, 2)
    %3: f32[] = aten.cross_entropy_loss(%2, %t, none, 1, -100, 0.0)
    return "loss": %3
  })");
  EXPECT_THAT(outcome.text,
              HasSubstr("%3: f32[2,8,5] = aten.permute(%2, [0, 2, 1])"));
}

// Whatever is no plain cross-entropy counts by samples.
TEST(LossToSumAndCount, OtherLossesAreAveragedOverSamples) {
  for (const char* loss :
       {"aten.cross_entropy_loss(%logits, %labels, %weights, 1, -100, 0.0)",
        "aten.cross_entropy_loss(%logits, %labels, none, 1, -100, 0.1)",
        "aten.cross_entropy_loss(%logits, %logits, none, 1, -100, 0.0)",
        "aten.mean(%logits)"}) {
    const std::string made = std::string("%3: f32[] = ") + loss + "\n";
    expect_rewrite(rewrite, model(made + R"(return "loss": %3)"),
                   model(made + R"(
        %4: f32[] = aten.mul.Scalar(%3, 6)
        %5: i64[] = aten.full([], 6, i64, none, none, none)
        return "loss_sum": %4
        return "count": %5)"));
  }
}

TEST(LossToSumAndCount, ACrossEntropyThatAlsoFeedsOthersIsATerm) {
  const auto outcome = run(rewrite, model(R"(
    %3: f32[] = aten.cross_entropy_loss(%logits, %labels, none, 1, -100, 0.0)
    %4: f32[] = aten.add.Tensor(%3, %3, 1)
    return "loss": %4)"));
  EXPECT_THAT(outcome.text, HasSubstr("aten.mul.Scalar(%4, 6)"));
}

TEST(LossToSumAndCount, HalfPrecisionIsSummedInSingle) {
  expect_rewrite(rewrite, R"(graph "g" {
    %x: f16[3,2] = user "x"
    %1: f16[] = aten.mean(%x)
    return "loss": %1
  })",
                 R"(graph "g" {
    %x: f16[3,2] = user "x"
    %1: f16[] = aten.mean(%x)
    %2: f32[] = aten._to_copy(%1, f32, none, none, none, false, none)
    %3: f32[] = aten.mul.Scalar(%2, 5)
    %4: i64[] = aten.full([], 5, i64, none, none, none)
    return "loss_sum": %3
    return "count": %4
  })",
                 {.samples = 5});
}

TEST(LossToSumAndCount, RunsOnce) {
  EXPECT_FALSE(run(loss_to_sum_and_count, kFlat).changed);
}

TEST(LossToSumAndCount, SaysWhatIsMissing) {
  EXPECT_THAT(usage_failure(loss_to_sum_and_count, model("")),
              HasSubstr("returns no loss, a floating scalar, but nothing"));
  EXPECT_THAT(
      usage_failure(loss_to_sum_and_count, model(R"(return "out": %logits)")),
      HasSubstr("but 'out' f32[6,8]; return one, or set model.loss"));
  EXPECT_THAT(usage_failure(loss_to_sum_and_count, model(R"(
    %3: f32[] = aten.mean(%logits)
    return "a": %3
    return "labels": %labels
    return "b": %3)")),
              HasSubstr("2 floating scalars, 'a', 'b'"));
  EXPECT_THAT(usage_failure(loss_to_sum_and_count, R"(graph "g" {
    %x: f32[3,2] = user "x"
    %y: f32[4,2] = user "y"
    %1: f32[] = aten.mean(%x)
    return "loss": %1
  })"),
              HasSubstr("'x' has 3, 'y' has 4"));
}

}  // namespace
}  // namespace merak::passes
