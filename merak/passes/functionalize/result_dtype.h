// The element type that an operator without writes gives where the one that
// writes kept that of its argument: f16.add_(f32) stays f16, add gives f32.
#pragma once

#include "merak/base/dtype.h"
#include "merak/graph/graph.h"

namespace merak::passes {

// `operands`: the types of the tensors that the operator reads, in order.
// `written`: the type of what it writes.
DType result_dtype(std::string_view pure_op,
                   const std::vector<graph::TensorType>& operands,
                   DType written);

}  // namespace merak::passes
