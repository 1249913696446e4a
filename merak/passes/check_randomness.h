// Refuses random operators that are left once dropout is lowered.
//
// A draw from a generator's state would differ with the layout and between
// forward and recomputation. Never changes the graph; a usage error names the
// operator and its module.
#pragma once

#include "merak/passes/pass.h"

namespace merak::passes {

bool check_randomness(graph::Graph& graph, const PassOptions& options);

}  // namespace merak::passes
