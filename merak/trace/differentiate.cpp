#include "merak/trace/differentiate.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "merak/base/error.h"
#include "merak/program/rewrite.h"
#include "merak/program/simplify_views.h"
#include "merak/trace/dispatch.h"
#include "merak/trace/operator_call.h"
#include "merak/trace/scope.h"
#include "merak/trace/shapes.h"
#include "merak/trace/tensors.h"

namespace merak::trace {
namespace {

using graph::InputKind;
using graph::kNoValue;
using graph::ValueId;

class ProgramSink final : public CallSink {
 public:
  explicit ProgramSink(Recorder& recorder) : recorder_(recorder) {}

  void call(const c10::OperatorHandle& op,
            std::vector<c10::IValue>& stack) override {
    const std::size_t first = stack.size() - op.schema().arguments().size();
    const std::vector<c10::IValue> arguments(
        stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
    infer_results(op, stack);
    if (is_metadata_query(op)) return;
    recorder_.record(op, arguments,
                     {stack.data() + first, stack.size() - first},
                     /*grad_enabled=*/true);
  }

 private:
  Recorder& recorder_;
};

// Runs a stage graph on functional proxies.
class StageRecording {
 public:
  StageRecording(const graph::Graph& stage, c10::Device device)
      : stage_(stage),
        recorder_(stage.name(), device),
        sink_(recorder_),
        intercept_(&sink_, /*functional=*/true),
        tensors_(stage.values().size()) {}

  void add_inputs(bool differentiable) {
    for (const graph::Input& input : stage_.inputs()) {
      at::Tensor& tensor = tensor_of(input.value);
      tensor =
          functional_input(input.kind, input.name,
                           stage_.value(input.value).type, input.trainable);
      tensor.set_requires_grad(differentiable && may_need_gradient(input));
    }
  }

  at::Tensor functional_input(InputKind kind, const std::string& name,
                              const graph::TensorType& type, bool trainable) {
    const at::Tensor proxy = make_proxy(type, recorder_.device());
    recorder_.add_input(kind, name, proxy, trainable);
    return at::functionalization::impl::to_functional_tensor(proxy);
  }

  void run_nodes() {
    std::vector<c10::IValue> stack;
    std::vector<at::Tensor> results;
    for (const graph::Node& node : stage_.nodes()) {
      const Scope scope(node.module);
      const at::AutoGradMode grad_mode(node.grad_enabled &&
                                       at::GradMode::is_enabled());
      const OperatorCall call(node, recorder_.device());
      call.run(stack, [&](ValueId id) { return tensor_of(id); });
      results.clear();
      OperatorCall::flatten_results(stack, results);
      for (std::size_t i = 0; i < node.results.size(); ++i) {
        if (node.results[i] != kNoValue)
          tensor_of(node.results[i]) = results[i];
      }
    }
  }

  // Which value of the record a tensor ended as.
  ValueId value_of(const at::Tensor& tensor) {
    namespace impl = at::functionalization::impl;
    if (!impl::isFunctionalTensor(tensor)) return recorder_.value_of(tensor);
    impl::sync(tensor);
    return recorder_.value_of(impl::from_functional_tensor(tensor));
  }

  static bool may_need_gradient(const graph::Input& input) {
    return (input.kind == InputKind::kParameter && input.trainable) ||
           input.kind == InputKind::kBoundary;
  }

  at::Tensor& tensor_of(ValueId id) {
    return tensors_.at(static_cast<std::size_t>(id));
  }
  Recorder& recorder() { return recorder_; }

 private:
  const graph::Graph& stage_;
  Recorder recorder_;
  ProgramSink sink_;
  InterceptKernels intercept_;
  std::vector<at::Tensor> tensors_;
};

// The gradients of the stage's inputs, recorded; outputs "grad:<input>".
void record_backward(const graph::Graph& stage, StageRecording& recording) {
  std::vector<at::Tensor> outputs, seeds, inputs;
  std::vector<std::string> names;
  for (const graph::Output& output : stage.outputs()) {
    const at::Tensor& tensor = recording.tensor_of(output.value);
    if (!tensor.requires_grad()) continue;
    outputs.push_back(tensor);
    graph::TensorType type = type_of(tensor);
    type.strides.clear();  // gradients arrive dense, whatever the output is
    seeds.push_back(recording.functional_input(
        InputKind::kGradient, "grad:" + output.name, type, false));
  }
  for (const graph::Input& input : stage.inputs()) {
    const at::Tensor& tensor = recording.tensor_of(input.value);
    if (!tensor.requires_grad()) continue;
    inputs.push_back(tensor);
    names.push_back("grad:" + input.name);
  }
  if (outputs.empty() || inputs.empty()) return;
  const auto gradients = torch::autograd::grad(
      outputs, inputs, seeds, /*retain_graph=*/false, /*create_graph=*/false,
      /*allow_unused=*/true);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    recording.recorder().graph().add_output(recording.value_of(gradients[i]),
                                            names[i]);
  }
}

void add_stage_outputs(const graph::Graph& stage, StageRecording& recording) {
  for (const graph::Output& output : stage.outputs()) {
    recording.recorder().graph().add_output(
        recording.value_of(recording.tensor_of(output.value)), output.name);
  }
}

}  // namespace

StageProgram differentiate(const graph::Graph& stage, c10::Device device) {
  StageRecording recording(stage, device);
  const at::AutoGradMode grad_mode(true);
  recording.add_inputs(/*differentiable=*/true);
  recording.run_nodes();
  add_stage_outputs(stage, recording);
  graph::Graph& record = recording.recorder().graph();
  const std::size_t forward_nodes = record.nodes().size();
  record_backward(stage, recording);
  program::simplify_views(record);
  return {program::split_programs(record, forward_nodes),
          std::move(recording.recorder().constants())};
}

LoweredProgram lower(const graph::Graph& stage, c10::Device device) {
  StageRecording recording(stage, device);
  const at::AutoGradMode grad_mode(false);
  recording.add_inputs(/*differentiable=*/false);
  recording.run_nodes();
  add_stage_outputs(stage, recording);
  graph::Graph& record = recording.recorder().graph();
  program::simplify_views(record);
  return {program::extract(record, record.outputs(), record.name()),
          std::move(recording.recorder().constants())};
}

}  // namespace merak::trace
