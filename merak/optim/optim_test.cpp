// Optimizers against PyTorch's, the norm and the schedules against their
// formulas.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <numbers>

#include "merak/base/error.h"
#include "merak/optim/grad_norm.h"
#include "merak/optim/lr_schedule.h"
#include "merak/optim/optimizer.h"

namespace merak::optim {
namespace {

using ::testing::HasSubstr;

constexpr double kDecay = 0.1;

struct Parameters {
  std::vector<at::Tensor> values, gradients;

  explicit Parameters(at::ScalarType type) {
    for (const auto& shape :
         std::vector<std::vector<std::int64_t>>{{5, 7}, {7}, {3, 2, 2}}) {
      values.push_back(at::randn(shape, type));
      gradients.push_back(at::randn(shape, type));
    }
  }
  std::vector<Slot> slots() const {
    std::vector<Slot> list;
    for (std::size_t i = 0; i < values.size(); ++i) {
      list.push_back({fmt::format("p{}", i), values[i], gradients[i]});
    }
    return list;
  }
  // The same for PyTorch: matrices with decay, vectors without.
  std::vector<torch::optim::OptimizerParamGroup> groups(
      std::unique_ptr<torch::optim::OptimizerOptions> with,
      std::unique_ptr<torch::optim::OptimizerOptions> without) {
    std::vector<at::Tensor> matrices, vectors;
    for (at::Tensor& value : values) {
      (value.dim() >= 2 ? matrices : vectors).push_back(value);
    }
    std::vector<torch::optim::OptimizerParamGroup> list;
    list.emplace_back(matrices, std::move(with));
    list.emplace_back(vectors, std::move(without));
    return list;
  }
};

template <typename Options>
std::unique_ptr<torch::optim::OptimizerOptions> options(double lr,
                                                        double decay) {
  auto made = std::make_unique<Options>(lr);
  made->weight_decay(decay);
  if constexpr (requires { made->betas(); }) {
    made->betas(std::make_tuple(0.9, 0.95));
    made->eps(1e-8);
  }
  return made;
}

template <typename Theirs, typename Options>
void expect_same(const std::string& name, at::ScalarType type,
                 double tolerance) {
  Parameters ours(type), theirs(type);
  for (std::size_t i = 0; i < ours.values.size(); ++i) {
    theirs.values[i] = ours.values[i].clone().requires_grad_();
  }
  const double lr = 1e-2;
  Theirs reference(
      theirs.groups(options<Options>(lr, kDecay), options<Options>(lr, 0)),
      Options(lr));
  OptimizerOptions wanted;
  wanted.name = name;
  wanted.weight_decay = kDecay;
  const auto optimizer = make_optimizer(wanted, ours.slots());
  for (std::int64_t t = 1; t <= 4; ++t) {
    for (std::size_t i = 0; i < ours.values.size(); ++i) {
      ours.gradients[i].copy_(at::randn(ours.gradients[i].sizes(), type));
      theirs.values[i].mutable_grad() = ours.gradients[i].clone();
    }
    reference.step();
    optimizer->step(lr, t);
    for (std::size_t i = 0; i < ours.values.size(); ++i) {
      EXPECT_LT(ours.values[i]
                    .sub(theirs.values[i].detach())
                    .abs()
                    .max()
                    .item<double>(),
                tolerance)
          << name << " step " << t << " parameter " << i;
    }
  }
}

TEST(Optimizers, EqualPyTorchs) {
  expect_same<torch::optim::AdamW, torch::optim::AdamWOptions>(
      "adamw", at::kDouble, 1e-14);
  expect_same<torch::optim::Adam, torch::optim::AdamOptions>(
      "adam", at::kDouble, 1e-14);
  expect_same<torch::optim::SGD, torch::optim::SGDOptions>("sgd", at::kDouble,
                                                           1e-14);
  expect_same<torch::optim::AdamW, torch::optim::AdamWOptions>(
      "adamw", at::kFloat, 1e-6);
}

TEST(Optimizers, GoOnFromTheirState) {
  Parameters a(at::kDouble);
  Parameters b(at::kDouble);
  const auto first = make_optimizer({}, a.slots());
  first->step(1e-2, 1);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    b.values[i].copy_(a.values[i]);
    b.gradients[i].copy_(a.gradients[i]);
  }
  const auto second = make_optimizer({}, b.slots());
  for (const Slot& slot : a.slots()) {
    for (const std::string& state : first->state_names()) {
      second->state(slot.name, state).copy_(first->state(slot.name, state));
    }
  }
  first->step(1e-2, 2);
  second->step(1e-2, 2);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    EXPECT_TRUE(at::equal(a.values[i], b.values[i]));
  }
}

TEST(Optimizers, AnUnknownNameIsAUsageError) {
  OptimizerOptions wrong;
  wrong.name = "adamx";
  EXPECT_THROW(make_optimizer(wrong, {}), Error);
}

TEST(GradNorm, IsTheRootOfTheSumOfSquares) {
  const at::Tensor gradient = at::randn({1001}, at::kFloat);
  const double sum = sum_of_squares(gradient);
  const auto norm = gradient.to(at::kDouble).norm().item<double>();
  EXPECT_NEAR(std::sqrt(sum) / norm, 1, 1e-13);
  EXPECT_EQ(global_norm(std::vector<double>{9.0, 16.0}), 5.0);
  EXPECT_EQ(sum_of_squares(at::full({4}, 1e30, at::kFloat)),
            4 * std::pow(static_cast<double>(1e30F), 2));
  EXPECT_TRUE(std::isnan(sum_of_squares(at::full({2}, NAN, at::kFloat))));
}

TEST(GradNorm, CoefficientIsThatOfClipGradNorm) {
  EXPECT_DOUBLE_EQ(clip_coefficient(2.0, 1.0), 1.0 / (2.0 + 1e-6));
  EXPECT_EQ(clip_coefficient(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_coefficient(100.0, 0.0), 1.0);
}

LrSchedule schedule(const std::string& name) { return {name, 1.0, 0.1, 4, 24}; }

TEST(LrSchedules, WarmUpAndEndWhereTheySay) {
  for (const std::string& name : lr_schedule_names()) {
    SCOPED_TRACE(name);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(name), 0), 0.25);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(name), 3), 1.0);
    EXPECT_NEAR(learning_rate(schedule(name), 23),
                name == "constant" ? 1.0 : 0.1, 1e-15);
  }
}

TEST(LrSchedules, FollowTheirFormulas) {
  const double t = (10.0 - 4) / (24 - 1 - 4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule("linear"), 10), 1 - 0.9 * t);
  EXPECT_DOUBLE_EQ(learning_rate(schedule("cosine"), 10),
                   0.1 + 0.9 * (1 + std::cos(std::numbers::pi * t)) / 2);
  EXPECT_EQ(learning_rate(schedule("constant"), 10), 1.0);
  EXPECT_EQ(learning_rate(schedule("wsd"), 20), 1.0);
  EXPECT_LT(learning_rate(schedule("wsd"), 22), 1.0);
}

TEST(LrSchedules, AnUnknownNameListsTheKnown) {
  try {
    learning_rate(schedule("cosin"), 0);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("cosine"));
  }
}

}  // namespace
}  // namespace merak::optim
