#include "merak/trace/shapes.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <optional>
#include <set>

#include "merak/base/error.h"
#include "merak/trace/dispatch.h"
#include "merak/trace/operator_call.h"
#include "merak/trace/scope.h"
#include "merak/trace/tensors.h"

namespace merak::trace {
namespace {

at::Tensor to_meta(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  at::Tensor meta = at::empty_strided(
      tensor.sizes(), tensor.strides(),
      at::TensorOptions().dtype(tensor.scalar_type()).device(at::kMeta));
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return meta;
}

c10::IValue to_meta(const c10::IValue& value) {
  if (value.isTensor()) return to_meta(value.toTensor());
  if (value.isDevice()) return c10::Device(c10::kMeta);
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& item : value.toTensorVector()) {
      list.push_back(to_meta(item));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& item :
         value.toOptionalTensorVector()) {
      list.push_back(item ? std::optional(to_meta(*item)) : std::nullopt);
    }
    return list;
  }
  return value;
}

c10::IValue from_meta(const c10::IValue& value, c10::Device device) {
  const auto proxy = [&](const at::Tensor& meta) {
    return meta.defined() ? make_proxy(meta.sizes(), meta.strides(),
                                       meta.scalar_type(), device)
                          : meta;
  };
  if (value.isTensor()) return proxy(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& item : value.toTensorVector()) {
      list.push_back(proxy(item));
    }
    return list;
  }
  return value;
}

// The device that the results lie on: that of the first tensor, else of a
// device argument, else the CPU.
c10::Device device_of(std::span<const c10::IValue> arguments) {
  std::optional<c10::Device> named;
  for (const c10::IValue& value : arguments) {
    if (value.isTensor() && value.toTensor().defined()) {
      return value.toTensor().device();
    }
    if (value.isTensorList() && !value.toTensorVector().empty()) {
      return value.toTensorVector().front().device();
    }
    if (value.isDevice()) named = value.toDevice();
  }
  return named.value_or(c10::Device(c10::kCPU));
}

// For an operator that writes to an argument and returns it, that argument.
std::optional<std::size_t> written_argument(const c10::FunctionSchema& schema,
                                            const c10::Argument& result) {
  if (!result.alias_info() || !result.alias_info()->isWrite()) return {};
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    if (alias && alias->isWrite() &&
        alias->beforeSets() == result.alias_info()->beforeSets()) {
      return i;
    }
  }
  return {};
}

bool has_tensor(std::span<const c10::IValue> arguments) {
  return std::ranges::any_of(arguments, [](const c10::IValue& value) {
    return (value.isTensor() && value.toTensor().defined()) ||
           (value.isTensorList() && !value.toListRef().empty());
  });
}

// A factory that names no device would take memory on the default one.
void name_device(const c10::FunctionSchema& schema,
                 std::vector<c10::IValue>& meta) {
  if (has_tensor(meta)) return;
  for (std::size_t i = 0; i < meta.size(); ++i) {
    if (schema.arguments()[i].name() == "device") {
      meta[i] = c10::Device(c10::kMeta);
    }
  }
}

void run_on_meta(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack,
                 std::size_t first) {
  const std::span<const c10::IValue> arguments(&stack[first],
                                               stack.size() - first);
  const c10::Device device = device_of(arguments);
  std::vector<c10::IValue> meta;
  const PlainKernels plain;
  for (const c10::IValue& value : arguments) meta.push_back(to_meta(value));
  name_device(op.schema(), meta);
  try {
    op.callBoxed(&meta);
  } catch (const c10::NotImplementedError&) {
    fail_usage(
        "operator {} in module '{}' cannot be captured: LibTorch has no "
        "meta kernel for it, and merak/trace/shape_rules.cpp no rule",
        op_name(op), current_scope());
  }
  const auto& returns = op.schema().returns();
  for (std::size_t i = 0; i < meta.size(); ++i) {
    const auto written = written_argument(op.schema(), returns[i]);
    meta[i] = written ? arguments[*written] : from_meta(meta[i], device);
  }
  stack.resize(first);
  for (c10::IValue& value : meta) stack.push_back(std::move(value));
}

}  // namespace

bool is_metadata_query(const c10::OperatorHandle& op) {
  return op.operator_name().name == "aten::_fused_sdp_choice";
}

bool reads_values(const c10::OperatorHandle& op) {
  static const std::set<std::string> names = {
      "aten._local_scalar_dense", "aten.allclose", "aten.equal",
      "aten.is_nonzero",          "aten.item",
  };
  return names.count(op_name(op)) > 0;
}

void infer_results(const c10::OperatorHandle& op,
                   std::vector<c10::IValue>& stack) {
  const std::size_t first = stack.size() - op.schema().arguments().size();
  if (is_metadata_query(op)) {
    const PlainKernels plain;
    op.callBoxed(&stack);
    return;
  }
  const std::string name = op_name(op);
  if (reads_values(op)) {
    fail_usage(
        "module '{}' reads a tensor's value ({}) while it is captured: "
        "a graph cannot branch on values; compute with tensors instead",
        current_scope(), name);
  }
  if (const ShapeRule* rule = find_shape_rule(name)) {
    std::vector<c10::IValue> results;
    (*rule)({&stack[first], stack.size() - first}, results);
    stack.resize(first);
    for (c10::IValue& value : results) stack.push_back(std::move(value));
    return;
  }
  run_on_meta(op, stack, first);
}

}  // namespace merak::trace
