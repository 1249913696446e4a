// What every graph must obey; run after every pass.
#pragma once

#include "merak/graph/graph.h"

namespace merak::graph {

struct VerifyOptions {
  // No operator may write to its arguments. Off only for graphs as captured,
  // before they are made functional.
  bool functional = true;
};

// Checks that ids are in range, every value has exactly one producer and is
// used only behind it, absent tensors are written `none`, sizes are not
// negative, strides fit shapes, and names of values, of inputs of a kind and of
// outputs are unique. Internal error that names the graph, the node (number,
// operator, module) and the value.
void verify(const Graph& graph, const VerifyOptions& options = {});

}  // namespace merak::graph
