// Calling a graph's node in LibTorch: the operator found once, its arguments
// laid out once, boxed calls afterwards.
//
// A tensor argument that the graph holds as a number is a wrapped number, as
// in `x * 2.0`: it takes part in type promotion as Python's and C++'s literals
// do. A device is written as the string "device", which stands for the device
// that the node is called for, or as another device's name.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "merak/graph/graph.h"

namespace merak::trace {

// "aten.add.Tensor" <-> the operator aten::add with overload Tensor.
std::string op_name(const c10::OperatorHandle& op);
c10::OperatorHandle find_operator(const std::string& name);

// A non-tensor argument as the graph keeps it; `device` becomes "device".
// Usage error, naming the operator, for kinds a graph cannot hold.
graph::Attribute to_attribute(const c10::Argument& formal,
                              const c10::IValue& value, c10::Device device,
                              const std::string& op);

class OperatorCall {
 public:
  // Usage error if LibTorch lacks the operator or an argument does not fit.
  OperatorCall(const graph::Node& node, c10::Device device);

  // Calls the operator; tensor(id) gives the operand for a value id. Results
  // are left on `stack`, one IValue a result of the schema.
  template <typename TensorOf>
  void run(std::vector<c10::IValue>& stack, TensorOf&& tensor) const {
    load(stack, tensor);
    op_.callBoxed(&stack);
  }

  // Lays out the arguments without calling.
  template <typename TensorOf>
  void load(std::vector<c10::IValue>& stack, TensorOf&& tensor) const {
    stack.assign(template_.begin(), template_.end());
    for (const Hole& hole : holes_) stack[hole.position] = tensor(hole.value);
    for (const ListHole& hole : list_holes_) {
      stack[hole.position] = make_list(hole, tensor);
    }
  }

  // Appends the results on a stack; one that is a list of tensors counts as
  // its members.
  static void flatten_results(std::vector<c10::IValue>& stack,
                              std::vector<at::Tensor>& results);

  const c10::OperatorHandle& op() const { return op_; }

 private:
  struct Hole {
    std::size_t position;
    graph::ValueId value;
  };
  struct ListHole {
    std::size_t position;
    std::vector<graph::ValueId> values;
    bool optional_elements;
  };

  template <typename TensorOf>
  static c10::IValue make_list(const ListHole& hole, TensorOf& tensor) {
    if (hole.optional_elements) {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(hole.values.size());
      for (graph::ValueId id : hole.values) {
        list.push_back(id == graph::kNoValue
                           ? std::nullopt
                           : std::optional<at::Tensor>(tensor(id)));
      }
      return list;
    }
    c10::List<at::Tensor> list;
    list.reserve(hole.values.size());
    for (graph::ValueId id : hole.values) list.push_back(tensor(id));
    return list;
  }

  c10::OperatorHandle op_;
  std::vector<c10::IValue> template_;
  std::vector<Hole> holes_;
  std::vector<ListHole> list_holes_;
};

}  // namespace merak::trace
