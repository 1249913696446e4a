#include "merak/passes/eliminate_common_subexpressions.h"

#include <string>
#include <unordered_map>

#include "merak/graph/ops/catalogue.h"
#include "merak/graph/rewriter.h"
#include "merak/graph/text.h"

namespace merak::passes {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;

// What the node computes, as text over the new graph's values: names of values
// are unique, and attributes print exactly.
std::string key_of(const graph::Rewriter& rewriter, const Graph& target,
                   Node node) {
  map_operands(node, [&](graph::ValueId id) { return rewriter.at(id); });
  std::string key = node.op + (node.grad_enabled ? "(" : " no_grad(");
  for (const graph::Argument& argument : node.arguments) {
    key += print(target, argument) + ",";
  }
  for (graph::ValueId result : node.results) {
    key +=
        result == kNoValue ? "_" : print(rewriter.source().value(result).type);
  }
  return key;
}

}  // namespace

bool eliminate_common_subexpressions(Graph& graph, const PassOptions&) {
  graph::Rewriter rewriter(graph);
  std::unordered_map<std::string, NodeId> seen;  // -> node of the target
  bool changed = false;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const auto id = static_cast<NodeId>(i);
    if (!is_pure(node)) {
      rewriter.copy(id);
      continue;
    }
    std::string key = key_of(rewriter, rewriter.target(), node);
    const auto found = seen.find(key);
    if (found == seen.end()) {
      seen.emplace(std::move(key), rewriter.copy(id));
      continue;
    }
    const Node& first = rewriter.target().node(found->second);
    for (std::size_t k = 0; k < node.results.size(); ++k) {
      if (node.results[k] != kNoValue) {
        rewriter.map(node.results[k], first.results[k]);
      }
    }
    changed = true;
  }
  if (changed) graph = rewriter.finish();
  return changed;
}

}  // namespace merak::passes
