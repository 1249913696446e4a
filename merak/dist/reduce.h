// Elementwise reductions over plain memory, in a fixed order.
#pragma once

#include <span>

#include "merak/dist/communicator.h"

namespace merak::dist {

// Reduces buffers of one count and type, first to last, and writes the result
// to all of them. f16 and bf16 are summed in f32 and rounded once. The order is
// the buffers' order, so the same inputs give the same bits.
void reduce_in_order(std::span<const Buffer> buffers, ReduceOp op);

}  // namespace merak::dist
