// The tensors of a model as it sees them, and the memory that they share.
//
// Every value of the captured graph is one of the model's tensors; an operator
// in place gives back the tensor that it was given. A tensor has memory of its
// own or is a view of another one: the tensors over one memory are its alias
// class. Each class counts its writes, and each tensor knows the value of the
// new graph that it has, and as of which write. A tensor that has missed a
// write is looked up again, out of the tensor that it views, when it is read.
#pragma once

#include <cstddef>
#include <vector>

#include "merak/graph/rewriter.h"
#include "merak/passes/functionalize/layout.h"
#include "merak/passes/functionalize/view_step.h"

namespace merak::passes {

using TensorId = std::size_t;
inline constexpr TensorId kNoTensor = static_cast<TensorId>(-1);

struct AliasedTensor {
  TensorId viewed = kNoTensor;  // kNoTensor: memory of its own
  ViewStep step = {};
  graph::NodeId maker = graph::kNoNode;    // in the source
  graph::TensorType type = {};             // as recorded
  Strides strides = {};                    // those of `type`, or what must be
  graph::ValueId value = graph::kNoValue;  // in the target, as of `writes`
  int writes = 0;  // with memory of its own: how many there were
};

class AliasClasses {
 public:
  // Inputs are there from the start. The rewriter must outlive this.
  explicit AliasClasses(graph::Rewriter& rewriter);

  // A result of a node of the source, and what stands for it in the target.
  void add_result(graph::NodeId id, std::size_t result, graph::ValueId value);

  TensorId tensor_of(graph::ValueId source_value) const;
  const AliasedTensor& tensor(TensorId id) const { return tensors_[id]; }
  // The tensor whose memory it looks at, or itself.
  TensorId memory_of(TensorId id) const;
  // The node that made a view.
  const graph::Node& maker_of(TensorId id) const;
  // The input of the source that a tensor is, or nothing.
  const graph::Input* input_of(TensorId id) const;

  // Says that a value of the source is that tensor, too.
  void identify(graph::ValueId source_value, TensorId id);

  // From now on the tensor looks at its memory as the view operator `op` would:
  // for operators like t_. `node` has its arguments and one result.
  void look_differently(TensorId id, graph::NodeId node, const std::string& op);

  // The tensor's value in the target as of now. Usage error if it has missed a
  // write and its view is opaque.
  graph::ValueId read(TensorId id);

  // Gives another value to the tensor, and so to all that it is a view of, as
  // the node `writer` does. All views on the way must be writable.
  void write(TensorId id, graph::ValueId value, graph::NodeId writer);

 private:
  TensorId add(AliasedTensor tensor);
  TensorId add_view(TensorId viewed, ViewStep step, graph::NodeId maker,
                    graph::TensorType type);
  graph::TensorType laid_out(TensorId id) const;

  graph::Rewriter& rewriter_;
  std::vector<AliasedTensor> tensors_;
  std::vector<TensorId> tensor_of_;  // by value of the source
};

}  // namespace merak::passes
