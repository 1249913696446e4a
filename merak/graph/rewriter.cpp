#include "merak/graph/rewriter.h"

#include <utility>

#include "merak/base/error.h"

namespace merak::graph {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Rewriter::Rewriter(const Graph& source)
    : source_(source),
      target_(source.name()),
      map_(source.values().size(), kNoValue) {
  for (const Input& input : source.inputs()) {
    const Value& value = source.value(input.value);
    const ValueId copy =
        target_.add_input(input.kind, input.name, value.type, input.trainable);
    target_.set_name(copy, value.name);
    map(input.value, copy);
  }
}

ValueId Rewriter::at(ValueId source_value) const {
  const ValueId target_value = map_.at(index(source_value));
  MERAK_CHECK(target_value != kNoValue, "%{} of graph '{}' has no counterpart",
              source_.value(source_value).name, source_.name());
  return target_value;
}

void Rewriter::map(ValueId source_value, ValueId target_value) {
  map_.at(index(source_value)) = target_value;
}

NodeId Rewriter::copy(NodeId id) {
  Node node = source_.node(id);
  map_operands(node, [&](ValueId value) { return at(value); });
  std::vector<std::optional<TensorType>> types;
  for (ValueId result : node.results) {
    types.push_back(result == kNoValue
                        ? std::nullopt
                        : std::optional(source_.value(result).type));
  }
  const NodeId copied = target_.add_node(
      std::move(node.op), std::move(node.arguments), std::move(types),
      std::move(node.module), node.grad_enabled);
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    const ValueId result = node.results[i];
    if (result == kNoValue) continue;
    const ValueId renewed = target_.node(copied).results[i];
    const std::string& name = source_.value(result).name;
    if (name != std::to_string(result)) target_.set_name(renewed, name);
    map(result, renewed);
  }
  return copied;
}

ValueId Rewriter::add(const Node& like, std::string op,
                      std::vector<Argument> arguments, TensorType type) {
  const NodeId id =
      target_.add_node(std::move(op), std::move(arguments), {std::move(type)},
                       like.module, like.grad_enabled);
  return target_.node(id).results[0];
}

Graph Rewriter::finish() {
  if (target_.outputs().empty()) {
    for (const Output& output : source_.outputs()) {
      target_.add_output(at(output.value), output.name);
    }
  }
  return std::move(target_);
}

}  // namespace merak::graph
