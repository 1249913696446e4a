// Computes what is written twice once.
//
//   %1 = aten.neg(%x)          %1 = aten.neg(%x)
//   %2 = aten.neg(%x)     ->
//   %3 = aten.add(%1, %2, 1)   %3 = aten.add(%1, %1, 1)
//
// Only operators that are known to be pure: nothing random, no collectives.
// Grad modes must agree. Values keep the module of their first place.
#pragma once

#include "merak/passes/pass.h"

namespace merak::passes {

bool eliminate_common_subexpressions(graph::Graph& graph,
                                     const PassOptions& options);

}  // namespace merak::passes
