#include "merak/graph/graph.h"

#include <algorithm>
#include <utility>

#include "merak/base/error.h"

namespace merak::graph {

std::int64_t TensorType::numel() const {
  std::int64_t count = 1;
  for (std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t TensorType::bytes() const {
  return numel() * static_cast<std::int64_t>(size_of(dtype));
}

std::string_view name_of(InputKind kind) {
  switch (kind) {
    case InputKind::kUser:
      return "user";
    case InputKind::kParameter:
      return "parameter";
    case InputKind::kBuffer:
      return "buffer";
    case InputKind::kConstant:
      return "constant";
    case InputKind::kBoundary:
      return "boundary";
    case InputKind::kGradient:
      return "gradient";
    case InputKind::kRandom:
      return "random";
  }
  return "";
}

ValueId Graph::add_input(InputKind kind, std::string name, TensorType type,
                         bool trainable) {
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back({std::move(type), kNoNode, 0, claim_name(name)});
  inputs_.push_back({id, kind, std::move(name), trainable});
  return id;
}

NodeId Graph::add_node(std::string op, std::vector<Argument> arguments,
                       std::vector<std::optional<TensorType>> results,
                       std::string module, bool grad_enabled) {
  const auto id = static_cast<NodeId>(nodes_.size());
  Node node{
      std::move(op), std::move(arguments), {}, std::move(module), grad_enabled};
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) {
      node.results.push_back(kNoValue);
      continue;
    }
    const auto value = static_cast<ValueId>(values_.size());
    values_.push_back({std::move(*results[i]), id, static_cast<std::int32_t>(i),
                       std::to_string(value)});
    node.results.push_back(value);
  }
  nodes_.push_back(std::move(node));
  return id;
}

std::string Graph::claim_name(std::string wanted) {
  if (wanted.empty() ||
      wanted.find_first_not_of("0123456789") == std::string::npos) {
    wanted.insert(0, "_");  // numbers are the default names of results
  }
  std::string name = wanted;
  for (int i = 1; !value_names_.insert(name).second; ++i) {
    name = wanted + "." + std::to_string(i);
  }
  return name;
}

void Graph::set_name(ValueId id, const std::string& name) {
  Value& renamed = value(id);
  if (renamed.name == name) return;
  value_names_.erase(renamed.name);
  renamed.name = claim_name(name);
}

void Graph::add_output(ValueId value, std::string name) {
  MERAK_CHECK(value >= 0 && index(value) < values_.size(),
              "output '{}' is value {} of {}", name, value, values_.size());
  outputs_.push_back({value, std::move(name)});
}

const Input* Graph::find_input(InputKind kind, std::string_view name) const {
  const auto found =
      std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& input) {
        return input.kind == kind && input.name == name;
      });
  return found == inputs_.end() ? nullptr : &*found;
}

const Output* Graph::find_output(std::string_view name) const {
  const auto found =
      std::find_if(outputs_.begin(), outputs_.end(),
                   [&](const Output& output) { return output.name == name; });
  return found == outputs_.end() ? nullptr : &*found;
}

std::vector<std::vector<NodeId>> users_of_values(const Graph& graph) {
  std::vector<std::vector<NodeId>> users(graph.values().size());
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    for_each_operand(graph.nodes()[i], [&](ValueId value) {
      auto& list = users[static_cast<std::size_t>(value)];
      if (list.empty() || list.back() != id) list.push_back(id);
    });
  }
  return users;
}

}  // namespace merak::graph
