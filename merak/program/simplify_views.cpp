#include "merak/program/simplify_views.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace merak::program {
namespace {

using graph::Argument;
using graph::Graph;
using graph::kNoNode;
using graph::Node;
using graph::ValueId;

// Views whose result is their first argument where the types are equal.
constexpr std::array<std::string_view, 6> kReshapes = {
    "aten.detach", "aten.alias",        "aten.view",
    "aten.expand", "aten._unsafe_view", "aten._reshape_alias"};

// Views that undo themselves when applied twice with the same arguments.
constexpr std::array<std::string_view, 2> kInvolutions = {"aten.t",
                                                          "aten.transpose.int"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names,
              std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool same_attributes(const Node& a, const Node& b) {
  for (std::size_t i = 1; i < a.arguments.size(); ++i) {
    if (!(a.arguments[i] == b.arguments[i])) return false;
  }
  return true;
}

// The value that a node's only result can be replaced by, or the result.
ValueId simplified(const Graph& graph, const Node& node) {
  const ValueId result = node.results.front();
  const auto* operand = std::get_if<ValueId>(&node.arguments.front());
  if (operand == nullptr || *operand == graph::kNoValue) return result;
  if (contains(kReshapes, node.op)) {
    const bool same = graph.value(*operand).type == graph.value(result).type;
    return same ? *operand : result;
  }
  const graph::NodeId producer = graph.value(*operand).producer;
  if (producer == kNoNode || !contains(kInvolutions, node.op)) return result;
  const Node& inner = graph.node(producer);
  if (inner.op != node.op || !same_attributes(inner, node)) return result;
  return std::get<ValueId>(inner.arguments.front());
}

}  // namespace

bool simplify_views(Graph& graph) {
  std::vector<ValueId> replaced(graph.values().size());
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    replaced[i] = static_cast<ValueId>(i);
  }
  bool changed = false;
  const auto replacement = [&](ValueId value) {
    const ValueId by = replaced[static_cast<std::size_t>(value)];
    changed = changed || by != value;
    return by;
  };
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& node = graph.node(static_cast<graph::NodeId>(i));
    map_operands(node, replacement);
    if (node.results.size() != 1 || node.arguments.empty()) continue;
    const ValueId result = node.results.front();
    if (result == graph::kNoValue) continue;
    replaced[static_cast<std::size_t>(result)] = simplified(graph, node);
  }
  std::vector<graph::Output> outputs = graph.outputs();
  for (graph::Output& output : outputs)
    output.value = replacement(output.value);
  graph.set_outputs(std::move(outputs));
  return changed;
}

}  // namespace merak::program
