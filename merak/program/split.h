// Cutting the record of a stage's forward and backward into programs.
//
// What crosses from forward to backward is named "saved:<k>"; what crosses from
// backward-input to backward-weight "stash:<k>". Views are not carried but
// made again from what they view, so that every saved value stands for memory
// of its own (or an input).
//
// The split of backward in two follows zero-bubble pipeline parallelism (Qi et
// al., arXiv 2401.10241): the previous stage waits for the gradients of this
// stage's boundary inputs only.
#pragma once

#include "merak/graph/graph.h"

namespace merak::program {

struct Programs {
  graph::Graph forward;
  graph::Graph backward;         // the two below together, in recorded order
  graph::Graph backward_input;   // gradients of boundary inputs, and stashes
  graph::Graph backward_weight;  // gradients of parameters
};

inline constexpr const char* kGradientPrefix = "grad:";
inline constexpr const char* kSavedPrefix = "saved:";
inline constexpr const char* kStashPrefix = "stash:";

// `record`: nodes of the forward, then, from `forward_nodes` on, those of the
// backward; outputs named "grad:<input>" belong to the backward.
Programs split_programs(const graph::Graph& record, std::size_t forward_nodes);

}  // namespace merak::program
