#include <algorithm>
#include <array>
#include <string_view>

#include "merak/graph/ops/catalogue.h"

namespace merak::graph {
namespace {

// "aten.add_.Tensor" -> "add_", "Tensor".
struct OpName {
  std::string_view base;
  std::string_view overload;
};

OpName split_name(std::string_view op) {
  const std::size_t space = op.find('.');
  if (space != std::string_view::npos) op.remove_prefix(space + 1);
  const std::size_t dot = op.find('.');
  if (dot == std::string_view::npos) return {op, {}};
  return {op.substr(0, dot), op.substr(dot + 1)};
}

bool is_in_place(std::string_view base) {
  if (base.ends_with("__"))
    return base.starts_with("__i") && base != "__invert__";
  return base.ends_with('_');
}

// Overloads whose last arguments are written, as many as there are results.
constexpr std::array<std::string_view, 8> kOutOverloads = {
    "out",        "out_mode", "values",  "values_stable",
    "dim_values", "dim_max",  "dim_min", "grad_input"};

bool is_out(std::string_view overload) {
  return overload.ends_with("_out") ||
         std::find(kOutOverloads.begin(), kOutOverloads.end(), overload) !=
             kOutOverloads.end();
}

// ATen operators that write without saying so in their name.
struct HiddenWrite {
  std::string_view base;
  std::array<std::size_t, 2> arguments;
  std::size_t only_if;  // the boolean argument under which they write
};

constexpr std::size_t kAlways = static_cast<std::size_t>(-1);

// Running statistics are arguments 3 and 4, written in training.
constexpr std::array<HiddenWrite, 7> kHiddenWrites = {{
    {"batch_norm", {3, 4}, 5},
    {"native_batch_norm", {3, 4}, 5},
    {"_native_batch_norm_legit", {3, 4}, 5},
    {"_batch_norm_impl_index", {3, 4}, 5},
    {"cudnn_batch_norm", {3, 4}, 5},
    {"instance_norm", {3, 4}, 5},
    {"_batch_norm_with_update", {3, 4}, kAlways},
}};

bool is_true(const Node& node, std::size_t position) {
  if (position >= node.arguments.size()) return false;
  const auto* attribute = std::get_if<Attribute>(&node.arguments[position]);
  return attribute && attribute->value == Attribute{true}.value;
}

bool is_tensor(const Node& node, std::size_t position) {
  return position < node.arguments.size() &&
         !std::holds_alternative<Attribute>(node.arguments[position]);
}

}  // namespace

std::vector<std::size_t> written_arguments(const Node& node) {
  std::vector<std::size_t> written;
  if (!node.op.starts_with("aten.")) return written;
  const auto [base, overload] = split_name(node.op);
  if (is_in_place(base)) written.push_back(0);
  if (is_out(overload)) {
    const std::size_t outs = std::max<std::size_t>(node.results.size(), 1);
    for (std::size_t i =
             node.arguments.size() - std::min(outs, node.arguments.size());
         i < node.arguments.size(); ++i) {
      written.push_back(i);
    }
  }
  for (const HiddenWrite& hidden : kHiddenWrites) {
    if (hidden.base != base) continue;
    if (hidden.only_if != kAlways && !is_true(node, hidden.only_if)) continue;
    for (std::size_t argument : hidden.arguments) {
      if (is_tensor(node, argument)) written.push_back(argument);
    }
  }
  return written;
}

}  // namespace merak::graph
