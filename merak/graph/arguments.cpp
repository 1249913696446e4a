#include "merak/graph/arguments.h"

namespace merak::graph {
namespace {

template <typename T>
const T* attribute(const Node& node, std::size_t position) {
  if (position >= node.arguments.size()) return nullptr;
  const auto* held = std::get_if<Attribute>(&node.arguments[position]);
  return held ? std::get_if<T>(&held->value) : nullptr;
}

}  // namespace

ValueId tensor_argument(const Node& node, std::size_t position) {
  if (position >= node.arguments.size()) return kNoValue;
  const auto* id = std::get_if<ValueId>(&node.arguments[position]);
  return id ? *id : kNoValue;
}

bool bool_argument(const Node& node, std::size_t position, bool fallback) {
  const auto* value = attribute<bool>(node, position);
  return value ? *value : fallback;
}

std::int64_t int_argument(const Node& node, std::size_t position,
                          std::int64_t fallback) {
  const auto* value = attribute<std::int64_t>(node, position);
  return value ? *value : fallback;
}

double real_argument(const Node& node, std::size_t position, double fallback) {
  if (const auto* value = attribute<double>(node, position)) return *value;
  if (const auto* value = attribute<std::int64_t>(node, position)) {
    return static_cast<double>(*value);
  }
  return fallback;
}

std::vector<std::int64_t> ints_argument(const Node& node,
                                        std::size_t position) {
  const auto* list = attribute<std::vector<std::int64_t>>(node, position);
  return list ? *list : std::vector<std::int64_t>{};
}

}  // namespace merak::graph
