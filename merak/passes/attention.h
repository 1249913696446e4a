// Attention with dropout, from plain operators.
#pragma once

#include <functional>

#include "merak/graph/rewriter.h"

namespace merak::passes {

// Makes softmax(query * scale @ key^T + mask) with `dropout` applied, times
// value, in place of an aten.scaled_dot_product_attention of the source.
// Boolean masks keep where they are true; rows that are masked throughout give
// zeros, as the operator does. Grouped queries repeat keys and values. Maps the
// result.
void decompose_attention(
    graph::Rewriter& rewriter, const graph::Node& node,
    const std::function<graph::ValueId(graph::ValueId)>& dropout);

}  // namespace merak::passes
