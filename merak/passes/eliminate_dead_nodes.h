// Removes nodes whose results nobody reads.
//
// Nodes with an effect, nodes that write to their arguments, and nodes without
// results (assertions) are kept, as are all inputs: which parameters a model
// has does not depend on what it computes.
#pragma once

#include "merak/passes/pass.h"

namespace merak::passes {

bool eliminate_dead_nodes(graph::Graph& graph, const PassOptions& options);

}  // namespace merak::passes
