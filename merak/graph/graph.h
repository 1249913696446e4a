// The graph: what a model, a stage or a program computes.
//
// A Graph is a list of nodes in program order over typed values, in static
// single assignment: every value has one producer, an input or a node. It is
// purely functional once passes/functionalize has run: no node writes to its
// arguments. A graph holds no tensor data and no LibTorch type.
//
// Ownership: the graph owns its values and nodes; both are referred to by dense
// ids that stay valid until the graph is compacted (passes that delete build a
// new graph). Not thread-safe; const access from several threads is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "merak/base/dtype.h"

namespace merak::graph {

using ValueId = std::int32_t;
using NodeId = std::int32_t;
inline constexpr ValueId kNoValue = -1;  // an absent tensor in an argument list
inline constexpr NodeId kNoNode = -1;

using Shape = std::vector<std::int64_t>;

// What is known of a value. `strides` is empty for
// contiguous values, and for all that crosses a stage.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::int64_t> strides;

  std::int64_t numel() const;
  std::int64_t bytes() const;
  bool operator==(const TensorType&) const = default;
};

enum class InputKind : std::uint8_t {
  kUser,       // a tensor of the batch, by the name the model gives it
  kParameter,  // by its global name, trainable or not
  kBuffer,     // by its global name
  kConstant,   // data captured with the model, by its name in a constant table
  kBoundary,   // comes from another stage, or from the forward program (saved)
  kGradient,   // gradient of a boundary output, in backward programs
  kRandom,     // the random key: i64[4] = {seed, step, first sample, samples}
};
std::string_view name_of(InputKind kind);

// An argument that is no tensor. Arguments of operators that may be a tensor or
// a list of tensors are Argument's other alternatives.
struct Attribute {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, DType,
               std::vector<std::int64_t>, std::vector<double>,
               std::vector<bool>>
      value;
  bool operator==(const Attribute&) const = default;
  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
};

struct ValueList {
  std::vector<ValueId> ids;  // kNoValue where a tensor is absent
  bool operator==(const ValueList&) const = default;
};

// One positional argument of an operator, in the order of its schema. A tensor
// that is absent is Attribute{} (none).
using Argument = std::variant<ValueId, ValueList, Attribute>;

struct Value {
  TensorType type;
  NodeId producer = kNoNode;  // kNoNode: a graph input
  std::int32_t result = 0;    // which result of the producer
  // Unique in the graph, for printing. Inputs: the input's own name where it is
  // free and no number. Results: the value's id, unless set_name gave another.
  std::string name;
};

struct Input {
  ValueId value = kNoValue;
  InputKind kind = InputKind::kUser;
  std::string name;  // global name; tied parameters have one input
  // Parameters: gradients are wanted. Boundary values: a gradient goes back.
  bool trainable = true;
};

struct Node {
  std::string op;  // "aten.addmm", "aten.add.Tensor", "merak.dropout"
  std::vector<Argument> arguments;
  std::vector<ValueId> results;  // kNoValue for a result that is undefined
  std::string module;            // "h.3.attn.c_attn", empty where unknown
  bool grad_enabled = true;      // grad mode when it was recorded
};

// What leaves a graph. `name` tells the caller which is which: "loss_sum",
// "count", "grad:<parameter>", a boundary name, or what the model calls it.
struct Output {
  ValueId value = kNoValue;
  std::string name;
};

class Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const Value& value(ValueId id) const { return values_.at(index(id)); }
  const Node& node(NodeId id) const { return nodes_.at(index(id)); }
  Node& node(NodeId id) { return nodes_.at(index(id)); }
  Value& value(ValueId id) { return values_.at(index(id)); }

  ValueId add_input(InputKind kind, std::string name, TensorType type,
                    bool trainable = true);
  // Appends a node; its results get fresh values of the given types. A result
  // without a type is undefined (kNoValue).
  NodeId add_node(std::string op, std::vector<Argument> arguments,
                  std::vector<std::optional<TensorType>> results,
                  std::string module = {}, bool grad_enabled = true);
  void add_output(ValueId value, std::string name);
  void set_outputs(std::vector<Output> outputs) {
    outputs_ = std::move(outputs);
  }
  // Gives a value another name, or one close to it where that is taken or a
  // number.
  void set_name(ValueId id, const std::string& name);

  // The input of that kind and name, or nothing.
  const Input* find_input(InputKind kind, std::string_view name) const;
  const Output* find_output(std::string_view name) const;

 private:
  static std::size_t index(std::int32_t id) {
    return static_cast<std::size_t>(id);
  }

  std::string claim_name(std::string wanted);

  std::string name_;
  std::unordered_set<std::string> value_names_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

// Calls f(ValueId) for every tensor a node reads, absent ones left out: single
// arguments and members of lists alike.
template <typename F>
void for_each_operand(const Node& node, F&& f) {
  for (const Argument& argument : node.arguments) {
    if (const auto* id = std::get_if<ValueId>(&argument)) {
      if (*id != kNoValue) f(*id);
    } else if (const auto* list = std::get_if<ValueList>(&argument)) {
      for (ValueId member : list->ids) {
        if (member != kNoValue) f(member);
      }
    }
  }
}

// Replaces every operand by f(operand).
template <typename F>
void map_operands(Node& node, F&& f) {
  for (Argument& argument : node.arguments) {
    if (auto* id = std::get_if<ValueId>(&argument)) {
      if (*id != kNoValue) *id = f(*id);
    } else if (auto* list = std::get_if<ValueList>(&argument)) {
      for (ValueId& member : list->ids) {
        if (member != kNoValue) member = f(member);
      }
    }
  }
}

// users[v]: the nodes that read value v, in program order, each once.
std::vector<std::vector<NodeId>> users_of_values(const Graph& graph);

}  // namespace merak::graph
