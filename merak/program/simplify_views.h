// Takes out views that change nothing: `detach` and `alias`, reshapes to the
// shape and strides that are there already, and transpositions that cancel.
//
// Records of autograd are full of them. Operands and outputs are redirected;
// the nodes stay in place (dead) so that positions keep their meaning.
// Returns whether anything changed.
#pragma once

#include "merak/graph/graph.h"

namespace merak::program {

bool simplify_views(graph::Graph& graph);

}  // namespace merak::program
