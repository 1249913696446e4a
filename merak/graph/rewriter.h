// Copies a graph node by node into a new one; a pass says only what differs.
//
//   Rewriter rewriter(graph);  // inputs are copied
//   for (NodeId id = 0; ...) {
//     if (is_identity(id)) {
//       rewriter.map(result, rewriter.at(operand));
//     } else {
//       rewriter.copy(id);
//     }
//   }
//   graph = rewriter.finish();
//
// Names that a value was given survive, numbers are given anew.
#pragma once

#include <string>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::graph {

class Rewriter {
 public:
  // `source` must outlive the rewriter and stay as it is.
  explicit Rewriter(const Graph& source);

  const Graph& source() const { return source_; }
  Graph& target() { return target_; }

  // The value of the target that stands for one of the source.
  ValueId at(ValueId source_value) const;
  void map(ValueId source_value, ValueId target_value);

  // Copies the node and maps its results; returns the copy's id.
  NodeId copy(NodeId id);

  // Adds a node with one result, of the module and grad mode of the node that
  // it stands for. Arguments are values of the target.
  ValueId add(const Node& like, std::string op, std::vector<Argument> arguments,
              TensorType type);

  // Maps the source's outputs, unless the target has some already.
  Graph finish();

 private:
  const Graph& source_;
  Graph target_;
  std::vector<ValueId> map_;  // by source value; kNoValue: not yet
};

}  // namespace merak::graph
