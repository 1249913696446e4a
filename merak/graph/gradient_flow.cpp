#include "merak/graph/gradient_flow.h"

namespace merak::graph {
namespace {

bool starts_gradient(const Input& input) {
  return input.trainable && (input.kind == InputKind::kParameter ||
                             input.kind == InputKind::kBoundary);
}

}  // namespace

std::vector<bool> needs_gradient(const Graph& graph) {
  std::vector<bool> needed(graph.values().size());
  auto at = [&](ValueId id) -> std::vector<bool>::reference {
    return needed[static_cast<std::size_t>(id)];
  };
  for (const Input& input : graph.inputs()) {
    at(input.value) = starts_gradient(input) &&
                      is_floating(graph.value(input.value).type.dtype);
  }
  for (const Node& node : graph.nodes()) {
    if (!node.grad_enabled || node.op == "aten.detach") continue;
    bool reads = false;
    for_each_operand(node, [&](ValueId id) { reads = reads || at(id); });
    if (!reads) continue;
    for (ValueId id : node.results) {
      if (id != kNoValue) at(id) = is_floating(graph.value(id).type.dtype);
    }
  }
  return needed;
}

}  // namespace merak::graph
