// A stage's graph for evaluation: random operators are left out, nothing else
// changes, so stages, boundaries and parameters are those of training.
#pragma once

#include "merak/graph/graph.h"

namespace merak::program {

graph::Graph without_dropout(const graph::Graph& stage);

}  // namespace merak::program
