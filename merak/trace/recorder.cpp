#include "merak/trace/recorder.h"

#include <ATen/core/List.h>
#include <fmt/format.h>

#include "merak/base/error.h"
#include "merak/trace/dispatch.h"
#include "merak/trace/operator_call.h"
#include "merak/trace/scope.h"
#include "merak/trace/tensors.h"

namespace merak::trace {

using graph::kNoValue;
using graph::ValueId;

void Recorder::add_input(graph::InputKind kind, const std::string& name,
                         const at::Tensor& tensor, bool trainable) {
  alias(tensor, graph_.add_input(kind, name, type_of(tensor), trainable));
}

void Recorder::alias(const at::Tensor& tensor, ValueId value) {
  values_[tensor.unsafeGetTensorImpl()] = value;
  alive_.push_back(tensor);
}

bool Recorder::knows(const at::Tensor& tensor) const {
  return values_.count(tensor.unsafeGetTensorImpl()) > 0;
}

ValueId Recorder::value_of(const at::Tensor& tensor) {
  const auto found = values_.find(tensor.unsafeGetTensorImpl());
  if (found != values_.end()) return found->second;
  if (is_proxy(tensor)) {
    fail_usage("module '{}' uses a tensor of another capture, of shape [{}]",
               current_scope(), fmt::join(tensor.sizes(), ", "));
  }
  const std::string name = fmt::format("constant_{}", constants_.size());
  constants_[name] = tensor;
  add_input(graph::InputKind::kConstant, name, tensor, false);
  return values_.at(tensor.unsafeGetTensorImpl());
}

graph::Argument Recorder::to_argument(const c10::Argument& formal,
                                      const c10::IValue& value,
                                      const std::string& op) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return graph::Attribute{};
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number() && !knows(tensor)) {
      const PlainKernels plain;
      const c10::Scalar scalar = tensor.item();
      if (scalar.isBoolean()) return graph::Attribute{scalar.toBool()};
      if (scalar.isIntegral(false)) return graph::Attribute{scalar.toLong()};
      return graph::Attribute{scalar.toDouble()};
    }
    return value_of(tensor);
  }
  if (value.isTensorList()) {
    graph::ValueList list;
    for (const at::Tensor& item : value.toTensorVector()) {
      list.ids.push_back(value_of(item));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    graph::ValueList list;
    for (const auto& item : value.toOptionalTensorVector()) {
      list.ids.push_back(item && item->defined() ? value_of(*item) : kNoValue);
    }
    return list;
  }
  return to_attribute(formal, value, device_, op);
}

void Recorder::record(const c10::OperatorHandle& op,
                      std::span<const c10::IValue> arguments,
                      std::span<const c10::IValue> results, bool grad_enabled) {
  const std::string name = op_name(op);
  const auto& formals = op.schema().arguments();
  std::vector<graph::Argument> operands;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    operands.push_back(to_argument(formals[i], arguments[i], name));
  }
  std::vector<c10::IValue> copies(results.begin(), results.end());
  std::vector<at::Tensor> tensors;
  OperatorCall::flatten_results(copies, tensors);
  std::vector<std::optional<graph::TensorType>> types;
  for (const at::Tensor& tensor : tensors) {
    types.push_back(tensor.defined() ? std::optional(type_of(tensor))
                                     : std::nullopt);
  }
  const graph::NodeId id =
      graph_.add_node(name, std::move(operands), std::move(types),
                      current_scope(), grad_enabled);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ValueId value = graph_.node(id).results[i];
    if (value != kNoValue) alias(tensors[i], value);
  }
}

}  // namespace merak::trace
