#include "merak/program/without_dropout.h"

#include <vector>

#include "merak/program/rewrite.h"

namespace merak::program {

using graph::ValueId;

graph::Graph without_dropout(const graph::Graph& stage) {
  graph::Graph result = stage;
  std::vector<ValueId> replaced(stage.values().size());
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    replaced[i] = static_cast<ValueId>(i);
  }
  const auto replacement = [&](ValueId value) {
    return replaced[static_cast<std::size_t>(value)];
  };
  for (std::size_t i = 0; i < result.nodes().size(); ++i) {
    graph::Node& node = result.node(static_cast<graph::NodeId>(i));
    map_operands(node, replacement);
    if (node.op != "merak.dropout") continue;
    replaced[static_cast<std::size_t>(node.results.front())] =
        std::get<ValueId>(node.arguments.front());
  }
  std::vector<graph::Output> outputs = result.outputs();
  for (graph::Output& output : outputs)
    output.value = replacement(output.value);
  result.set_outputs(std::move(outputs));
  return extract(result, result.outputs(), result.name());
}

}  // namespace merak::program
