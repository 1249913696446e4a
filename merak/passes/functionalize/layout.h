// Strides: where the elements of a tensor lie. Needed to tell whether an
// operator that may copy (reshape, contiguous) does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "merak/graph/graph.h"
#include "merak/passes/functionalize/view_step.h"

namespace merak::passes {

using Strides = std::vector<std::int64_t>;

Strides contiguous_strides(const graph::Shape& shape);

// Whether the elements lie in order and without gaps. Strides of dimensions of
// size 1 say nothing.
bool is_contiguous(const graph::Shape& shape, const Strides& strides);

// The strides under which the same memory can be seen in another shape of as
// many elements; nothing if that takes a copy.
std::optional<Strides> reshaped_strides(const graph::Shape& from,
                                        const Strides& strides,
                                        const graph::Shape& to);

// The type with strides filled in: none given means contiguous.
graph::TensorType with_strides(graph::TensorType type);

// The same for a view: none given means those that the step makes of `viewed`.
graph::TensorType with_strides(graph::TensorType type, const ViewStep& step,
                               const graph::TensorType& viewed);

}  // namespace merak::passes
