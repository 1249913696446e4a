// Element conversion between floating types, on plain memory.
#pragma once

#include <cstddef>
#include <span>

#include "merak/base/dtype.h"

namespace merak::checkpoint {

// Rounds to nearest, ties to even, once (F64 to BF16 does not pass through
// F32); too large becomes infinity, NaN stays NaN. Equal types are copied,
// floating or not. Both spans hold the same number of elements and need no
// alignment.
void convert_elements(std::span<const std::byte> source, DType from,
                      std::span<std::byte> target, DType to);

}  // namespace merak::checkpoint
