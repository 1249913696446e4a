// Our kernels against LibTorch's, in fp64, and what only they promise.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "merak/kernels/allocator.h"
#include "merak/kernels/cross_entropy.h"
#include "merak/kernels/dropout.h"
#include "merak/kernels/embedding.h"
#include "merak/kernels/operators.h"

namespace merak::kernels {
namespace {

constexpr std::int64_t kIgnore = -100;

double distance(const at::Tensor& a, const at::Tensor& b) {
  return a.sub(b).abs().max().item<double>();
}

at::Tensor key(std::int64_t seed, std::int64_t step, std::int64_t first,
               std::int64_t samples) {
  return at::tensor({seed, step, first, samples}, at::kLong);
}

at::Tensor sample_of(const at::Tensor& x, std::int64_t sample) {
  return x.select(0, sample);
}

TEST(Dropout, KeepsTheRightShareAndScalesIt) {
  const at::Tensor x = at::ones({8, 1000});
  const at::Tensor y = dropout(x, key(1, 0, 0, 8), 0.3, 0);
  const double kept = y.gt(0).sum().item<double>() / 8000;
  EXPECT_NEAR(kept, 0.7, 0.02);
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.7, 1e-6);
  EXPECT_TRUE(at::equal(dropout(x, key(1, 0, 0, 8), 0.0, 0), x));
}

TEST(Dropout, MaskDependsOnSeedStepSiteAndSampleAlone) {
  const at::Tensor x = at::ones({4, 6, 50});
  const at::Tensor whole = dropout(x, key(7, 3, 0, 4), 0.5, 2);
  // The same samples in two micro-batches.
  for (const std::int64_t first : {0, 2}) {
    const at::Tensor part =
        dropout(at::ones({2, 6, 50}), key(7, 3, first, 2), 0.5, 2);
    EXPECT_TRUE(at::equal(part, whole.narrow(0, first, 2)));
  }
  // Samples over the leading dimensions of a view with rows of tokens.
  const at::Tensor rows = dropout(at::ones({24, 50}), key(7, 3, 0, 4), 0.5, 2);
  EXPECT_TRUE(at::equal(rows.view({4, 6, 50}), whole));
  for (const at::Tensor& other : {dropout(x, key(8, 3, 0, 4), 0.5, 2),
                                  dropout(x, key(7, 4, 0, 4), 0.5, 2),
                                  dropout(x, key(7, 3, 0, 4), 0.5, 3)}) {
    EXPECT_FALSE(at::equal(other, whole));
  }
  EXPECT_FALSE(at::equal(sample_of(whole, 0), sample_of(whole, 1)));
}

TEST(Dropout, BackwardHasTheMaskOfForward) {
  const at::Tensor x = at::ones({3, 40}, at::kDouble);
  const at::Tensor mask = dropout(x, key(5, 1, 0, 3), 0.4, 9);
  const at::Tensor grad = at::randn({3, 40}, at::kDouble);
  EXPECT_LT(
      distance(dropout_backward(grad, key(5, 1, 0, 3), 0.4, 9), grad.mul(mask)),
      1e-15);
}

struct Problem {
  at::Tensor hidden, weight, labels;
  at::Tensor grad = at::tensor(0.37, at::kDouble);

  explicit Problem(std::int64_t vocabulary, at::ScalarType type = at::kDouble)
      : hidden(at::randn({13, 10}, type)),
        weight(at::randn({vocabulary, 10}, type)),
        labels(at::randint(0, vocabulary, {13}, at::kLong)) {
    labels[2] = kIgnore;
    labels[12] = kIgnore;
  }

  at::Tensor logits() const { return hidden.matmul(weight.t()); }

  // {loss, gradient of hidden, of weight} as PyTorch has them.
  std::vector<at::Tensor> expected() const {
    const at::Tensor h = hidden.detach().requires_grad_();
    const at::Tensor w = weight.detach().requires_grad_();
    const at::Tensor loss = at::cross_entropy_loss(h.matmul(w.t()), labels, {},
                                                   at::Reduction::Sum, kIgnore);
    auto gradients =
        torch::autograd::grad({loss}, {h, w}, {grad.to(h.dtype())});
    return {loss.detach(), gradients[0], gradients[1]};
  }
};

TEST(CrossEntropy, EqualsPyTorchsSumAndGradient) {
  const Problem problem(37);
  const at::Tensor logits = problem.logits();
  const auto [sum, lse] = cross_entropy_sum(logits, problem.labels, kIgnore);
  const at::Tensor variable = logits.detach().requires_grad_();
  const at::Tensor expected = at::cross_entropy_loss(
      variable, problem.labels, {}, at::Reduction::Sum, kIgnore);
  EXPECT_LT(distance(sum, expected.detach()), 1e-12);
  const auto gradient =
      torch::autograd::grad({expected}, {variable}, {problem.grad});
  EXPECT_LT(distance(cross_entropy_sum_backward(problem.grad, logits,
                                                problem.labels, lse, kIgnore),
                     gradient[0]),
            1e-13);
  EXPECT_EQ(count_valid(problem.labels, kIgnore).item<double>(), 11);
}

class FusedHead : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(FusedHead, EqualsPyTorchsProductAndLoss) {
  const Problem problem(GetParam());
  const auto expected = problem.expected();
  const auto [sum, exps, statistics] = linear_cross_entropy(
      problem.hidden, problem.weight, problem.labels, kIgnore);
  EXPECT_LT(distance(sum, expected[0]), 1e-11);
  const auto [grad_hidden, grad_weight] = linear_cross_entropy_backward(
      problem.grad, problem.hidden, problem.weight, problem.labels, exps,
      statistics, kIgnore);
  EXPECT_LT(distance(grad_hidden, expected[1]), 1e-12);
  EXPECT_LT(distance(grad_weight, expected[2]), 1e-12);
  for (const bool overwrite : {true, false}) {
    at::Tensor buffer = at::ones_like(problem.weight);
    const at::Tensor hidden_again = linear_cross_entropy_backward_accumulate(
        problem.grad, problem.hidden, problem.weight, problem.labels, exps,
        statistics, kIgnore, buffer, overwrite);
    EXPECT_TRUE(at::equal(hidden_again, grad_hidden));
    EXPECT_LT(distance(buffer, expected[2].add(overwrite ? 0 : 1)), 1e-12);
  }
}

// Below, at and above a block, and a last block of one row.
INSTANTIATE_TEST_SUITE_P(Vocabularies, FusedHead,
                         ::testing::Values(3, kVocabularyBlock,
                                           kVocabularyBlock + 1,
                                           2 * kVocabularyBlock + 17));

TEST(FusedHead, SurvivesLogitsThatOverflowAnExponential) {
  Problem problem(2 * kVocabularyBlock, at::kFloat);
  problem.weight.mul_(200);
  const auto expected = problem.expected();
  const auto [sum, exps, statistics] = linear_cross_entropy(
      problem.hidden, problem.weight, problem.labels, kIgnore);
  EXPECT_NEAR(sum.item<double>() / expected[0].item<double>(), 1, 1e-5);
  const auto [grad_hidden, grad_weight] = linear_cross_entropy_backward(
      problem.grad.to(at::kFloat), problem.hidden, problem.weight,
      problem.labels, exps, statistics, kIgnore);
  EXPECT_LT(distance(grad_weight, expected[2]), 1e-4);
}

TEST(CrossEntropy, RefusesALabelBeyondTheVocabulary) {
  Problem problem(37);
  problem.labels[0] = 37;
  EXPECT_THROW(cross_entropy_sum(problem.logits(), problem.labels, kIgnore),
               std::exception);
  EXPECT_THROW(linear_cross_entropy(problem.hidden, problem.weight,
                                    problem.labels, kIgnore),
               std::exception);
}

TEST(Operators, AutogradCallsOurBackward) {
  register_operators();
  const Problem problem(37);
  const auto op = c10::Dispatcher::singleton()
                      .findSchemaOrThrow("merak::linear_cross_entropy", "")
                      .typed<decltype(linear_cross_entropy)>();
  const at::Tensor h = problem.hidden.detach().requires_grad_();
  const at::Tensor w = problem.weight.detach().requires_grad_();
  const at::Tensor sum = std::get<0>(op.call(h, w, problem.labels, kIgnore));
  const auto gradients = torch::autograd::grad({sum}, {h, w}, {problem.grad});
  EXPECT_LT(distance(gradients[0], problem.expected()[1]), 1e-12);
  EXPECT_LT(distance(gradients[1], problem.expected()[2]), 1e-12);
}

TEST(Embedding, AddsTheDenseGradientRowByRow) {
  const at::Tensor indices =
      at::tensor({3, 0, 3, 5, 1}, at::kLong).view({5, 1});
  const at::Tensor grad = at::randn({5, 1, 4}, at::kDouble);
  for (const std::int64_t padding : {-1, 5}) {
    const at::Tensor dense =
        at::embedding_dense_backward(grad, indices, 7, padding, false);
    at::Tensor buffer = at::ones({7, 4}, at::kDouble);
    embedding_backward_accumulate(grad, indices, buffer, padding);
    EXPECT_LT(distance(buffer, dense.add(1)), 1e-14);
  }
}

// Last: it changes the process's allocator.
TEST(ZAllocator, CountsLiveAndPeakAndReusesBlocks) {
  install_allocator();
  const std::int64_t before = memory_count().live_bytes;
  reset_peak();
  void* first = nullptr;
  {
    const at::Tensor a = at::zeros({1000}, at::kDouble);
    const at::Tensor b = at::zeros({500}, at::kDouble);
    first = a.data_ptr();
    EXPECT_EQ(memory_count().live_bytes - before, 12000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  }
  EXPECT_EQ(memory_count().live_bytes, before);
  EXPECT_EQ(memory_count().peak_bytes - before, 12000);
  EXPECT_EQ(at::zeros({1000}, at::kDouble).data_ptr(), first);
}

}  // namespace
}  // namespace merak::kernels
