// Recognising a cross-entropy in a captured model.
#pragma once

#include <cstdint>
#include <optional>

#include "merak/graph/graph.h"

namespace merak::passes {

// Dimension 1 of the logits is the class (0 where they are a vector), unless
// class_last.
struct CrossEntropy {
  graph::ValueId logits = graph::kNoValue;
  graph::ValueId labels = graph::kNoValue;  // class indices
  std::int64_t ignore_index = -100;
  bool class_last = false;
  graph::NodeId node = graph::kNoNode;  // that makes the loss
};

// The cross-entropy over class indices that makes `loss`, without class weights
// and label smoothing, reduced by mean or sum; nothing if it is none.
std::optional<CrossEntropy> match_cross_entropy(const graph::Graph& graph,
                                                graph::ValueId loss);

}  // namespace merak::passes
