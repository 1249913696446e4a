#include "merak/graph/verify.h"

#include <set>
#include <unordered_set>
#include <utility>

#include "merak/base/error.h"
#include "merak/graph/ops/catalogue.h"
#include "merak/graph/text.h"

namespace merak::graph {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, const VerifyOptions& options)
      : graph_(graph), options_(options), defined_(graph.values().size()) {}

  void run() {
    for (const Input& input : graph_.inputs()) check_input(input);
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      check_node(static_cast<NodeId>(i));
    }
    for (const Output& output : graph_.outputs()) check_output(output);
    for (std::size_t i = 0; i < graph_.values().size(); ++i) {
      check_value(static_cast<ValueId>(i));
    }
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail_graph(fmt::format_string<Args...> format,
                               Args&&... args) const {
    fail<ErrorKind::kInternal>(
        "graph '{}': {}", graph_.name(),
        fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename... Args>
  [[noreturn]] void fail_node(NodeId id, fmt::format_string<Args...> format,
                              Args&&... args) const {
    const Node& node = graph_.node(id);
    fail_graph("node {} ({} in '{}'): {}", id, node.op, node.module,
               fmt::format(format, std::forward<Args>(args)...));
  }

  bool exists(ValueId id) const {
    return id >= 0 && index(id) < defined_.size();
  }
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  void check_input(const Input& input) {
    if (!exists(input.value)) {
      fail_graph("input '{}' is value {}, which does not exist", input.name,
                 input.value);
    }
    if (graph_.value(input.value).producer != kNoNode ||
        defined_[index(input.value)]) {
      fail_graph("input '{}' shares value %{} with another producer",
                 input.name, graph_.value(input.value).name);
    }
    if (!input_names_.emplace(input.kind, input.name).second) {
      fail_graph("there are two inputs {} '{}'", name_of(input.kind),
                 input.name);
    }
    defined_[index(input.value)] = true;
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op.empty()) fail_node(id, "the operator has no name");
    for (const Argument& argument : node.arguments) {
      const auto* value = std::get_if<ValueId>(&argument);
      if (value && *value == kNoValue) {
        fail_node(id, "an absent tensor must be the attribute none");
      }
    }
    for_each_operand(node, [&](ValueId value) {
      if (!exists(value)) {
        fail_node(id, "it reads value {}, which does not exist", value);
      }
      if (!defined_[index(value)]) {
        fail_node(id, "it reads %{}, which is made later",
                  graph_.value(value).name);
      }
    });
    if (options_.functional && !written_arguments(node).empty()) {
      fail_node(id, "it writes to its argument {}",
                print(graph_, node.arguments[written_arguments(node).front()]));
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) check_result(id, i);
  }

  void check_result(NodeId id, std::size_t position) {
    const ValueId value = graph_.node(id).results[position];
    if (value == kNoValue) return;
    if (!exists(value)) {
      fail_node(id, "its result {} is value {}, which does not exist", position,
                value);
    }
    const Value& result = graph_.value(value);
    if (defined_[index(value)] || result.producer != id ||
        result.result != static_cast<std::int32_t>(position)) {
      fail_node(id, "its result {} is %{}, which has another producer",
                position, result.name);
    }
    defined_[index(value)] = true;
  }

  void check_output(const Output& output) {
    if (!exists(output.value)) {
      fail_graph("output '{}' is value {}, which does not exist", output.name,
                 output.value);
    }
    if (!output_names_.insert(output.name).second) {
      fail_graph("there are two outputs '{}'", output.name);
    }
  }

  void check_value(ValueId id) {
    const Value& value = graph_.value(id);
    if (!defined_[index(id)]) {
      fail_graph("value %{} ({}) has no producer", value.name, id);
    }
    if (!value_names_.insert(value.name).second) {
      fail_graph("there are two values %{}", value.name);
    }
    const TensorType& type = value.type;
    for (std::int64_t size : type.shape) {
      if (size < 0) fail_graph("value %{} is {}", value.name, print(type));
    }
    if (!type.strides.empty() && type.strides.size() != type.shape.size()) {
      fail_graph("value %{} is {}: {} strides", value.name, print(type),
                 type.strides.size());
    }
  }

  const Graph& graph_;
  const VerifyOptions& options_;
  std::vector<bool> defined_;  // by value id, as nodes are walked in order
  std::set<std::pair<InputKind, std::string>> input_names_;
  std::unordered_set<std::string> output_names_;
  std::unordered_set<std::string> value_names_;
};

}  // namespace

void verify(const Graph& graph, const VerifyOptions& options) {
  Verifier(graph, options).run();
}

}  // namespace merak::graph
