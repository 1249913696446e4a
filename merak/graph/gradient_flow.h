// Which values gradients flow through.
#pragma once

#include <vector>

#include "merak/graph/graph.h"

namespace merak::graph {

// By value id: whether a gradient of the value is ever wanted. True for
// trainable parameters and boundary inputs, and for floating results of nodes
// recorded with gradients on that read such a value; detach stops it.
std::vector<bool> needs_gradient(const Graph& graph);

}  // namespace merak::graph
