#include "merak/trace/capture.h"

#include <ATen/core/grad_mode.h>

#include "merak/base/error.h"
#include "merak/trace/dispatch.h"
#include "merak/trace/operator_call.h"
#include "merak/trace/tensors.h"

namespace merak::trace {
namespace {

class ModelSink final : public CallSink {
 public:
  explicit ModelSink(Recorder& recorder) : recorder_(recorder) {}

  void call(const c10::OperatorHandle& op,
            std::vector<c10::IValue>& stack) override {
    const std::size_t first = stack.size() - op.schema().arguments().size();
    const std::vector<c10::IValue> arguments(
        stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
    const PassThrough pass;
    if (!is_symbolic(arguments)) {
      op.callBoxed(&stack);
      return;
    }
    const bool grad_enabled = at::GradMode::is_enabled();
    {
      const at::NoGradGuard no_grad;
      const InterceptKernels shapes(nullptr, /*functional=*/false);
      op.callBoxed(&stack);
    }
    const std::span<const c10::IValue> results(stack.data() + first,
                                               stack.size() - first);
    recorder_.record(op, arguments, results, grad_enabled);
  }

 private:
  bool is_symbolic(const at::Tensor& tensor) const {
    return tensor.defined() && (is_proxy(tensor) || recorder_.knows(tensor));
  }

  bool is_symbolic(const std::vector<c10::IValue>& arguments) const {
    for (const c10::IValue& value : arguments) {
      if (value.isTensor() && is_symbolic(value.toTensor())) return true;
      if (value.isTensorList()) {
        for (const at::Tensor& item : value.toTensorVector()) {
          if (is_symbolic(item)) return true;
        }
      }
      if (value.isOptionalTensorList()) {
        for (const auto& item : value.toOptionalTensorVector()) {
          if (item && is_symbolic(*item)) return true;
        }
      }
    }
    return false;
  }

  Recorder& recorder_;
};

void add_inputs(Recorder& recorder, graph::InputKind kind,
                const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (recorder.knows(tensor)) continue;  // tied: the first name counts
    recorder.add_input(kind, name, tensor, tensor.requires_grad());
  }
}

}  // namespace

CapturedModel capture_model(const ModuleView& module,
                            const std::vector<NamedType>& inputs,
                            c10::Device device) {
  Recorder recorder("model", device);
  NamedTensors tensors;
  for (const NamedType& input : inputs) {
    tensors.emplace_back(input.name, make_proxy(input.type, device));
    recorder.add_input(graph::InputKind::kUser, input.name,
                       tensors.back().second, false);
  }
  add_inputs(recorder, graph::InputKind::kParameter, module.parameters);
  add_inputs(recorder, graph::InputKind::kBuffer, module.buffers);
  ModelSink sink(recorder);
  NamedTensors outputs;
  {
    const InterceptWhole intercept(sink);
    outputs = module.forward(tensors);
  }
  for (const auto& [name, tensor] : outputs) {
    recorder.graph().add_output(recorder.value_of(tensor), name);
  }
  return {std::move(recorder.graph()), std::move(recorder.constants())};
}

}  // namespace merak::trace
