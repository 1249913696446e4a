// The parts of an ATen operator's name.
#pragma once

#include <cstddef>
#include <string_view>

namespace merak::passes {

struct OpName {
  std::string_view base;      // "add_"
  std::string_view overload;  // "Tensor", empty where there is none
};

// "aten.add_.Tensor" -> "add_", "Tensor". Looks into `op`.
inline OpName split_name(std::string_view op) {
  const std::size_t space = op.find('.');
  if (space != std::string_view::npos) op.remove_prefix(space + 1);
  const std::size_t dot = op.find('.');
  if (dot == std::string_view::npos) return {op, {}};
  return {op.substr(0, dot), op.substr(dot + 1)};
}

}  // namespace merak::passes
