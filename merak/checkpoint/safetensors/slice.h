// Boxes of tensors: where a part lies in the whole tensor, and copying what two
// parts share. Bytes of a part are row-major and dense in its own extent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "merak/base/dtype.h"

namespace merak::checkpoint {

using Shape = std::vector<std::int64_t>;

// The box that starts at `offset` and is `extent` long in each dimension. A
// scalar has no dimensions and one element.
struct Slice {
  Shape offset;
  Shape extent;
  bool operator==(const Slice&) const = default;
};

Slice whole(const Shape& shape);

// Elements and bytes of a shape; nothing if a dimension is negative or the
// product does not fit in 63 bits.
std::optional<std::int64_t> checked_numel(const Shape& shape);
std::optional<std::int64_t> checked_bytes(const Shape& shape, DType dtype);

// The same for shapes that have been checked.
std::int64_t numel(const Shape& shape);

// Has the tensor's dimensions and lies inside it, without wrapping.
bool is_inside(const Slice& slice, const Shape& shape);

// What both hold; nothing if that is no element. Both are of one tensor.
std::optional<Slice> intersection(const Slice& a, const Slice& b);

// Copies what `target_slice` and `source_slice` share from one part's bytes to
// the other's, and returns how many elements that was. Spans are as long as
// their slices say. The two do not overlap in memory.
std::int64_t copy_overlap(std::span<const std::byte> source,
                          const Slice& source_slice,
                          std::span<std::byte> target,
                          const Slice& target_slice, std::size_t element_size);

// Empty if the parts hold every element of the tensor exactly once, else a
// clause that names the first elements missing or held twice: "elements
// [4:8, 0:2] are missing". Parts lie inside the tensor and are not empty.
std::string coverage_problem(const Shape& shape, std::span<const Slice> parts);

std::string text(const Shape& shape);  // "[4, 32]"
std::string text(const Slice& slice);  // "[0:4, 16:32]", end exclusive

}  // namespace merak::checkpoint
