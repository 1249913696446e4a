#include "merak/passes/functionalize/result_dtype.h"

#include <algorithm>
#include <array>
#include <optional>

#include "merak/passes/functionalize/op_name.h"

namespace merak::passes {
namespace {

constexpr std::array<std::string_view, 16> kGiveBool = {"eq",
                                                        "ne",
                                                        "lt",
                                                        "le",
                                                        "gt",
                                                        "ge",
                                                        "not_equal",
                                                        "less",
                                                        "less_equal",
                                                        "greater",
                                                        "greater_equal",
                                                        "logical_and",
                                                        "logical_or",
                                                        "logical_xor",
                                                        "logical_not",
                                                        "isin"};

// The type of the first operand, whatever indices and masks are of.
constexpr std::array<std::string_view, 7> kKeep = {
    "index", "scatter", "masked", "put", "gather", "take", "bernoulli"};

bool keeps_type(std::string_view base) {
  if (base.starts_with('_')) base.remove_prefix(1);
  return std::any_of(kKeep.begin(), kKeep.end(), [&](std::string_view start) {
    return base.starts_with(start);
  });
}

// Bool, integers, floating.
int category(DType type) {
  if (type == DType::kBool) return 0;
  return is_floating(type) ? 2 : 1;
}

DType promote_integers(DType a, DType b) {
  if (b == DType::kU8) std::swap(a, b);
  if (a != DType::kU8) return size_of(a) < size_of(b) ? b : a;
  return b == DType::kI8 ? DType::kI16 : b;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) < category(b) ? b : a;
  if (category(a) == 1) return promote_integers(a, b);
  if (size_of(a) == size_of(b)) return DType::kF32;  // f16 and bf16
  return size_of(a) < size_of(b) ? b : a;
}

// Tensors without dimensions count only where they are of a higher category.
DType promote(const std::vector<graph::TensorType>& operands, DType fallback) {
  std::optional<DType> tensors, scalars;
  for (const graph::TensorType& operand : operands) {
    std::optional<DType>& so_far = operand.shape.empty() ? scalars : tensors;
    so_far = so_far ? promote(*so_far, operand.dtype) : operand.dtype;
  }
  if (!tensors) return scalars.value_or(fallback);
  if (!scalars || category(*scalars) <= category(*tensors)) return *tensors;
  return promote(*tensors, *scalars);
}

}  // namespace

DType result_dtype(std::string_view pure_op,
                   const std::vector<graph::TensorType>& operands,
                   DType written) {
  const std::string_view base = split_name(pure_op).base;
  if (std::find(kGiveBool.begin(), kGiveBool.end(), base) != kGiveBool.end()) {
    return DType::kBool;
  }
  if (keeps_type(base)) {
    return operands.empty() ? written : operands.front().dtype;
  }
  const DType promoted = promote(operands, written);
  const bool sums = base == "cumsum" || base == "cumprod";
  return sums && !is_floating(promoted) ? DType::kI64 : promoted;
}

}  // namespace merak::passes
