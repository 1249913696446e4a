// A small machine that runs graphs of integer tensors as an eager framework
// would: views share memory, operators in place write to it. For tests.
#pragma once

#include <map>
#include <memory>

#include "merak/graph/graph.h"
#include "merak/passes/functionalize/testing/shared_tensor.h"

namespace merak::passes::testing {

using TensorPtr = std::shared_ptr<Tensor>;

class Machine {
 public:
  // `share`: as eager frameworks do. Without it every result gets memory of
  // its own, so a view never shows a later write.
  Machine(const graph::Graph& graph, bool share)
      : graph_(graph), share_(share) {}

  void set(graph::ValueId value, Tensor tensor);
  // An operator in place returns the tensor that it was given.
  void run(const graph::Node& node);
  void run();  // all nodes

  const TensorPtr& at(graph::ValueId value) const { return values_.at(value); }

 private:
  const graph::Graph& graph_;
  bool share_;
  std::map<graph::ValueId, TensorPtr> values_;
};

}  // namespace merak::passes::testing
