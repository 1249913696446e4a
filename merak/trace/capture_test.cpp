#include "merak/trace/capture.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/base/error.h"
#include "merak/graph/text.h"
#include "merak/trace/scope.h"

namespace merak::trace {
namespace {

using ::testing::HasSubstr;

const c10::Device kCpu(c10::kCPU);

CapturedModel capture(const NamedTensors& parameters,
                      std::function<at::Tensor(const at::Tensor&)> forward) {
  ModuleView view;
  view.parameters = parameters;
  view.forward = [&](const NamedTensors& inputs) -> NamedTensors {
    return {{"y", forward(inputs[0].second)}};
  };
  return capture_model(view, {{"x", {DType::kF32, {2, 3}, {}}}}, kCpu);
}

TEST(Capture, SeesOperatorsWholeWithModulesAndGradMode) {
  const at::Tensor w = at::rand({4, 3}).requires_grad_();
  const CapturedModel model = capture({{"w", w}}, [&](const at::Tensor& x) {
    const Scope scope("head");
    const at::NoGradGuard no_grad;
    return at::linear(x, w);
  });
  EXPECT_EQ(graph::print(model.graph), R"(graph "model" {
  %x: f32[2,3] = user "x" frozen
  %w: f32[4,3] = parameter "w"
  %2: f32[2,4] = aten.linear(%x, %w, none) @"head" no_grad
  return "y": %2
}
)");
}

TEST(Capture, ComputesConstantsOnTheSpotAndKeepsNumbers) {
  const CapturedModel model = capture({}, [](const at::Tensor& x) {
    return x * 2.0 + at::arange(3).to(at::kFloat).add(1);
  });
  ASSERT_EQ(model.constants.size(), 1u);
  EXPECT_EQ(model.constants.at("constant_0").sum().item<double>(), 6.0);
  EXPECT_THAT(graph::print(model.graph), HasSubstr("aten.mul.Scalar(%x, 2.0)"));
}

TEST(Capture, KeepsInPlaceOperatorsAsTheyAre) {
  const CapturedModel model = capture({}, [](const at::Tensor& x) {
    at::Tensor y = x * 1.0;
    y.select(1, 0).add_(1);
    return y;
  });
  EXPECT_THAT(graph::print(model.graph), HasSubstr("aten.add_.Scalar"));
}

TEST(Capture, TiedParametersAreOneInput) {
  const at::Tensor w = at::rand({3, 3});
  const CapturedModel model = capture(
      {{"a", w}, {"b", w}},
      [&](const at::Tensor& x) { return at::linear(at::linear(x, w), w); });
  EXPECT_EQ(model.graph.inputs().size(), 2u);
}

TEST(Capture, BranchOnAValueNamesModuleAndOperator) {
  try {
    capture({}, [](const at::Tensor& x) {
      const Scope scope("router");
      return x.sum().item<double>() > 0 ? x : -x;
    });
    FAIL() << "the branch was captured";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("module 'router'"));
    EXPECT_THAT(error.what(), HasSubstr("aten._local_scalar_dense"));
  }
}

}  // namespace
}  // namespace merak::trace
