// GPT-2 through capture, differentiation and executor against PyTorch's eager
// autograd on the same module: the same kernels, so the same bits.
#include "merak/models/gpt2/gpt2.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "merak/base/error.h"
#include "merak/models/registry.h"
#include "merak/runtime/executor.h"
#include "merak/trace/deferred.h"
#include "merak/trace/differentiate.h"

namespace merak::models {
namespace {

using ::testing::HasSubstr;

const c10::Device kCpu(c10::kCPU);

nlohmann::ordered_json config(bool tied) {
  return {{"model_type", "gpt2"}, {"n_layer", 3},
          {"n_embd", 36},         {"n_head", 3},
          {"vocab_size", 101},    {"n_positions", 20},
          {"resid_pdrop", 0.0},   {"embd_pdrop", 0.0},
          {"attn_pdrop", 0.0},    {"tie_word_embeddings", tied}};
}

using Values = std::map<std::string, at::Tensor>;

std::vector<at::Tensor> inputs_of(const graph::Graph& program,
                                  const Values& values) {
  std::vector<at::Tensor> inputs;
  for (const graph::Input& input : program.inputs()) {
    inputs.push_back(values.at(input.name).detach());
  }
  return inputs;
}

class Gpt2Parity
    : public ::testing::TestWithParam<std::tuple<at::ScalarType, bool>> {};

TEST_P(Gpt2Parity, ProgramsEqualEagerAutogradBitForBit) {
  const auto [type, tied] = GetParam();
  const ModelSpec spec = make_spec(config(tied), "test");
  const trace::Deferred deferred;
  const auto model = const_cast<trace::Deferred&>(deferred).build(
      [&, type = type] { return spec.build(type); });
  const trace::ModuleView view = view_of(model);
  const trace::CapturedModel captured =
      trace::capture_model(view, language_model_inputs(2, 7, true), kCpu);
  const trace::StageProgram program =
      trace::differentiate(captured.graph, kCpu);

  Values values(captured.constants.begin(), captured.constants.end());
  values.insert(program.constants.begin(), program.constants.end());
  for (const auto& [name, parameter] : view.parameters) {
    values[name] = deferred.materialize(parameter, name, 1234);
    at::Tensor(parameter).set_data(values[name]);
  }
  values["input_ids"] = at::randint(0, 101, {2, 7}, at::kLong);
  values["labels"] = at::randint(0, 101, {2, 7}, at::kLong);
  values["labels"][0][3] = -100;
  values["grad:loss"] = at::ones({}, at::TensorOptions().dtype(type));

  const at::Tensor loss = model
                              ->forward({{"input_ids", values["input_ids"]},
                                         {"labels", values["labels"]}})
                              .front()
                              .second;
  std::vector<at::Tensor> parameters;
  for (const auto& item : view.parameters) parameters.push_back(item.second);
  const auto expected = torch::autograd::grad({loss}, parameters);

  runtime::ExecutorOptions options;
  options.check_types = true;
  const runtime::Executor forward(program.graphs.forward, options);
  const runtime::Executor backward(program.graphs.backward, options);
  const auto outputs = forward.run(inputs_of(forward.program(), values));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    values[forward.program().outputs()[i].name] = outputs[i];
  }
  EXPECT_TRUE(at::equal(values.at("loss"), loss.detach()));
  const auto gradients = backward.run(inputs_of(backward.program(), values));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    values[backward.program().outputs()[i].name] = gradients[i];
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = view.parameters[i].first;
    EXPECT_TRUE(at::equal(values.at("grad:" + name), expected[i])) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(TypesAndTying, Gpt2Parity,
                         ::testing::Combine(::testing::Values(at::kFloat,
                                                              at::kDouble),
                                            ::testing::Bool()));

void expect_rejected(const std::string& key, const nlohmann::json& value,
                     const std::string& rule) {
  nlohmann::ordered_json bad = config(true);
  bad[key] = value;
  try {
    make_spec(bad, "gpt2/config.json");
    FAIL() << key << " = " << value << " was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("gpt2/config.json"));
    EXPECT_THAT(error.what(), HasSubstr(rule));
  }
}

TEST(Gpt2Config, BadValuesNameFileKeyAndRule) {
  expect_rejected("n_embd", 35, "'n_embd' is 35; it must be a multiple");
  expect_rejected("n_layer", 0, "'n_layer' is 0");
  expect_rejected("resid_pdrop", 1.0, "must lie in [0, 1)");
  expect_rejected("activation_function", "mish", "known are gelu_new");
  expect_rejected("add_cross_attention", true, "only false");
  expect_rejected("model_type", "gpt3", "known are: gpt2");
  expect_rejected("vocab_size", "many", "must be a positive integer");
}

}  // namespace
}  // namespace merak::models
