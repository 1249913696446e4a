// A view step as nodes, both ways: looking, and putting back what was written.
#pragma once

#include <string_view>

#include "merak/graph/rewriter.h"
#include "merak/passes/functionalize/view_step.h"

namespace merak::passes {

// Why nothing can be put back through a step, for messages; empty if it can.
std::string_view why_not_writable(ViewKind kind);

// Whether a view leaves elements out, which stay when it is written.
bool is_part(ViewKind kind);

// What the view shows of `viewed`, a value of the target; kSame adds no node.
// Not for kOpaque.
graph::ValueId look(graph::Rewriter& rewriter, const graph::Node& like,
                    const ViewStep& step, graph::ValueId viewed,
                    graph::TensorType type);

// `viewed` with `part` in the place that the view shows, of the type `type`.
// `viewed` is wanted only of parts. Not for kExpand and kOpaque.
graph::ValueId put_back(graph::Rewriter& rewriter, const graph::Node& like,
                        const ViewStep& step, graph::ValueId viewed,
                        graph::ValueId part, graph::TensorType type);

}  // namespace merak::passes
