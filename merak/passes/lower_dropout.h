// Dropout as a function of the random key, so that masks do not depend on the
// layout, and recomputation makes the same ones again.
//
//   %1 = aten.dropout(%x, 0.1, true)
// becomes
//   %random: i64[4] = random "random"
//   %1 = merak.dropout(%x, %random, 0.1, 0)
//
// The last argument is the site, a number in program order: two dropouts of a
// model never share a mask. Evaluation mode or a rate of 0 leaves the operand;
// a rate of 1 leaves zeros. feature_dropout drops whole channels: a mask of
// [N, C, 1, ..] is made and multiplied. Attention with dropout is taken apart
// (attention.h).
#pragma once

#include "merak/passes/pass.h"

namespace merak::passes {

bool lower_dropout(graph::Graph& graph, const PassOptions& options);

}  // namespace merak::passes
