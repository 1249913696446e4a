#include "merak/program/rewrite.h"

#include "merak/base/error.h"

namespace merak::program {

using graph::kNoNode;
using graph::kNoValue;
using graph::NodeId;
using graph::ValueId;

void Rebuilder::copy_input(const graph::Input& input) {
  if (has(input.value)) return;
  map(input.value,
      target_.add_input(input.kind, input.name, source_.value(input.value).type,
                        input.trainable));
}

void Rebuilder::copy_node(NodeId id) {
  graph::Node node = source_.node(id);
  graph::map_operands(node, [&](ValueId value) { return mapped(value); });
  std::vector<std::optional<graph::TensorType>> types;
  for (ValueId result : node.results) {
    types.push_back(result == kNoValue
                        ? std::nullopt
                        : std::optional(source_.value(result).type));
  }
  const NodeId copy =
      target_.add_node(node.op, std::move(node.arguments), std::move(types),
                       node.module, node.grad_enabled);
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    if (node.results[i] != kNoValue) {
      map(node.results[i], target_.node(copy).results[i]);
    }
  }
}

void Rebuilder::map(ValueId value, ValueId mapped) {
  map_.at(static_cast<std::size_t>(value)) = mapped;
}

bool Rebuilder::has(ValueId value) const {
  return map_.at(static_cast<std::size_t>(value)) != kNoValue;
}

ValueId Rebuilder::mapped(ValueId value) const {
  const ValueId result = map_.at(static_cast<std::size_t>(value));
  MERAK_CHECK(result != kNoValue, "value %{} of graph '{}' was not copied",
              source_.value(value).name, source_.name());
  return result;
}

std::vector<bool> live_nodes(const graph::Graph& graph,
                             const std::vector<graph::Output>& outputs,
                             const std::function<bool(ValueId)>& stop) {
  std::vector<bool> live(graph.nodes().size(), false);
  const auto want = [&](ValueId value) {
    const NodeId producer = graph.value(value).producer;
    if (producer == kNoNode || (stop && stop(value))) return;
    live[static_cast<std::size_t>(producer)] = true;
  };
  for (const graph::Output& output : outputs) want(output.value);
  for (std::size_t i = live.size(); i-- > 0;) {
    if (live[i]) for_each_operand(graph.nodes()[i], want);
  }
  return live;
}

graph::Graph extract(const graph::Graph& graph,
                     const std::vector<graph::Output>& outputs,
                     const std::string& name) {
  const std::vector<bool> live = live_nodes(graph, outputs);
  std::vector<bool> read(graph.values().size(), false);
  const auto mark = [&](ValueId value) {
    read[static_cast<std::size_t>(value)] = true;
  };
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) for_each_operand(graph.nodes()[i], mark);
  }
  for (const graph::Output& output : outputs) mark(output.value);

  Rebuilder rebuilder(graph, name);
  for (const graph::Input& input : graph.inputs()) {
    if (read[static_cast<std::size_t>(input.value)]) {
      rebuilder.copy_input(input);
    }
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) rebuilder.copy_node(static_cast<NodeId>(i));
  }
  for (const graph::Output& output : outputs) {
    rebuilder.target().add_output(rebuilder.mapped(output.value), output.name);
  }
  return std::move(rebuilder.target());
}

}  // namespace merak::program
