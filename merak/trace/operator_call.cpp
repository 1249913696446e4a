#include "merak/trace/operator_call.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>

#include "merak/base/error.h"
#include "merak/trace/tensors.h"

namespace merak::trace {
namespace {

using c10::TypeKind;
using graph::Attribute;

const c10::Type& without_optional(const c10::Type& type) {
  if (type.kind() != TypeKind::OptionalType) return type;
  return *type.expectRef<c10::OptionalType>().getElementType();
}

bool is_list_of(const c10::Type& type, TypeKind element) {
  return type.kind() == TypeKind::ListType &&
         type.expectRef<c10::ListType>().getElementType()->kind() == element;
}

std::vector<std::int64_t> to_ints(const c10::IValue& value) {
  if (value.isIntList()) return value.toIntVector();
  std::vector<std::int64_t> ints;
  for (const c10::SymInt& item : value.toSymIntVector()) {
    ints.push_back(item.expect_int());
  }
  return ints;
}

c10::IValue wrapped_number(const Attribute& attribute) {
  c10::Scalar scalar;
  if (const auto* b = std::get_if<bool>(&attribute.value)) scalar = *b;
  if (const auto* i = std::get_if<std::int64_t>(&attribute.value)) scalar = *i;
  if (const auto* d = std::get_if<double>(&attribute.value)) scalar = *d;
  at::Tensor tensor = c10::scalar_to_tensor(scalar);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

c10::IValue to_ivalue(const c10::Argument& formal, const Attribute& attribute,
                      c10::Device device) {
  const c10::Type& type = without_optional(*formal.type());
  if (type.kind() == TypeKind::TensorType) {
    if (!attribute.is_none()) return wrapped_number(attribute);
    return formal.type()->kind() == TypeKind::OptionalType
               ? c10::IValue()
               : c10::IValue(at::Tensor());
  }
  if (type.kind() == TypeKind::DeviceObjType && !attribute.is_none()) {
    const auto& name = std::get<std::string>(attribute.value);
    return name == "device" ? device : c10::Device(name);
  }
  return std::visit(
      [](const auto& value) -> c10::IValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, DType>) {
          return static_cast<std::int64_t>(to_scalar_type(value));
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
          c10::List<bool> list;
          for (bool item : value) list.push_back(item);
          return list;
        } else {
          return value;
        }
      },
      attribute.value);
}

}  // namespace

std::string op_name(const c10::OperatorHandle& op) {
  std::string name = op.operator_name().name;
  name.replace(name.find("::"), 2, ".");
  const std::string& overload = op.operator_name().overload_name;
  return overload.empty() ? name : name + "." + overload;
}

c10::OperatorHandle find_operator(const std::string& name) {
  const std::size_t first = name.find('.');
  const std::size_t second = name.find('.', first + 1);
  const std::string overload =
      second == std::string::npos ? "" : name.substr(second + 1);
  if (first != std::string::npos) {
    const std::string base = name.substr(0, first) +
                             "::" + name.substr(first + 1, second - first - 1);
    const auto op = c10::Dispatcher::singleton().findSchema({base, overload});
    if (op) return *op;
  }
  fail_usage("this LibTorch has no operator '{}'", name);
}

Attribute to_attribute(const c10::Argument& formal, const c10::IValue& value,
                       c10::Device device, const std::string& op) {
  if (value.isNone()) return {};
  const TypeKind real = without_optional(*formal.real_type()).kind();
  if (real == TypeKind::ScalarTypeType) return {to_dtype(value.toScalarType())};
  if (value.isBool()) return {value.toBool()};
  if (value.isInt()) return {value.toInt()};
  if (value.isDouble()) return {value.toDouble()};
  if (value.isSymInt()) return {value.toSymInt().expect_int()};
  if (value.isString()) return {value.toStringRef()};
  if (value.isDevice()) {
    const c10::Device found = value.toDevice();
    return {found.type() == device.type() ? "device" : found.str()};
  }
  if (value.isIntList() || value.isSymIntList()) return {to_ints(value)};
  if (value.isDoubleList()) return {value.toDoubleVector()};
  if (value.isBoolList()) {
    const auto list = value.toBoolList();
    return {std::vector<bool>(list.begin(), list.end())};
  }
  if (value.isList() && value.toListRef().empty()) {
    return {std::vector<std::int64_t>{}};
  }
  fail_usage("argument '{}' of {} is a {}, which a graph cannot hold",
             formal.name(), op, value.tagKind());
}

OperatorCall::OperatorCall(const graph::Node& node, c10::Device device)
    : op_(find_operator(node.op)) {
  const auto& formals = op_.schema().arguments();
  if (node.arguments.size() != formals.size()) {
    fail_usage("{} has {} arguments, its schema takes {}: {}", node.op,
               node.arguments.size(), formals.size(),
               c10::toString(op_.schema()));
  }
  for (std::size_t i = 0; i < formals.size(); ++i) {
    const graph::Argument& argument = node.arguments[i];
    if (const auto* id = std::get_if<graph::ValueId>(&argument)) {
      holes_.push_back({i, *id});
      template_.emplace_back();
    } else if (const auto* list = std::get_if<graph::ValueList>(&argument)) {
      const c10::Type& type = without_optional(*formals[i].type());
      list_holes_.push_back(
          {i, list->ids, !is_list_of(type, TypeKind::TensorType)});
      template_.emplace_back();
    } else {
      template_.push_back(
          to_ivalue(formals[i], std::get<Attribute>(argument), device));
    }
  }
}

void OperatorCall::flatten_results(std::vector<c10::IValue>& stack,
                                   std::vector<at::Tensor>& results) {
  for (c10::IValue& value : stack) {
    if (value.isTensor()) {
      results.push_back(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      for (at::Tensor& member : value.toTensorVector()) {
        results.push_back(std::move(member));
      }
    } else {
      results.emplace_back();  // a number: recorded as undefined
    }
  }
}

}  // namespace merak::trace
