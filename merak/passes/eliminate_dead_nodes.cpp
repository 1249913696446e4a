#include "merak/passes/eliminate_dead_nodes.h"

#include <algorithm>

#include "merak/graph/ops/catalogue.h"
#include "merak/graph/rewriter.h"

namespace merak::passes {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

bool must_stay(const Node& node) {
  return node.results.empty() || has_effect(node) ||
         !written_arguments(node).empty();
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> read(graph.values().size());
  for (const graph::Output& output : graph.outputs()) {
    read[index(output.value)] = true;
  }
  std::vector<bool> live(graph.nodes().size());
  for (std::size_t i = live.size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    live[i] =
        must_stay(node) ||
        std::any_of(node.results.begin(), node.results.end(), [&](ValueId id) {
          return id != kNoValue && read[index(id)];
        });
    if (!live[i]) continue;
    for_each_operand(node, [&](ValueId id) { read[index(id)] = true; });
  }
  return live;
}

}  // namespace

bool eliminate_dead_nodes(Graph& graph, const PassOptions&) {
  const std::vector<bool> live = live_nodes(graph);
  if (std::find(live.begin(), live.end(), false) == live.end()) return false;
  graph::Rewriter rewriter(graph);
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) rewriter.copy(static_cast<NodeId>(i));
  }
  graph = rewriter.finish();
  return true;
}

}  // namespace merak::passes
