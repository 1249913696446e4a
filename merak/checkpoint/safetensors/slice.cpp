#include "merak/checkpoint/safetensors/slice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "merak/base/error.h"

namespace merak::checkpoint {
namespace {

// Element at `at` (in the whole tensor's coordinates) of a part, counted in
// elements from the part's beginning.
std::int64_t position(const Shape& at, const Slice& part) {
  std::int64_t index = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    index = index * part.extent[d] + (at[d] - part.offset[d]);
  }
  return index;
}

// Number of trailing dimensions that `box` spans whole in both parts: those,
// and the one before them, are one run of memory in each.
std::size_t contiguous_dims(const Shape& box, const Slice& a, const Slice& b) {
  std::size_t count = 0;
  while (count < box.size()) {
    const std::size_t d = box.size() - 1 - count;
    if (box[d] != a.extent[d] || box[d] != b.extent[d]) break;
    ++count;
  }
  return count;
}

// What is left of `box` without `part`: at most two boxes a dimension.
void subtract(Slice box, const Slice& part, std::vector<Slice>& left) {
  const std::optional<Slice> shared = intersection(box, part);
  if (!shared) {
    left.push_back(std::move(box));
    return;
  }
  for (std::size_t d = 0; d < box.offset.size(); ++d) {
    const std::int64_t box_end = box.offset[d] + box.extent[d];
    const std::int64_t shared_end = shared->offset[d] + shared->extent[d];
    if (box.offset[d] < shared->offset[d]) {
      Slice before = box;
      before.extent[d] = shared->offset[d] - box.offset[d];
      left.push_back(std::move(before));
    }
    if (shared_end < box_end) {
      Slice after = box;
      after.offset[d] = shared_end;
      after.extent[d] = box_end - shared_end;
      left.push_back(std::move(after));
    }
    box.offset[d] = shared->offset[d];
    box.extent[d] = shared->extent[d];
  }
}

Slice first_gap(const Shape& shape, std::span<const Slice> parts) {
  std::vector<Slice> open = {whole(shape)};
  for (const Slice& part : parts) {
    std::vector<Slice> left;
    for (Slice& box : open) subtract(std::move(box), part, left);
    open = std::move(left);
  }
  return *std::min_element(
      open.begin(), open.end(),
      [](const Slice& a, const Slice& b) { return a.offset < b.offset; });
}

// Two parts that share elements, found by a sweep along the first dimension.
std::optional<Slice> first_shared(std::span<const Slice> parts) {
  std::vector<const Slice*> sorted;
  for (const Slice& part : parts) sorted.push_back(&part);
  std::sort(sorted.begin(), sorted.end(), [](const Slice* a, const Slice* b) {
    return a->offset < b->offset;
  });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Slice& a = *sorted[i];
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      const Slice& b = *sorted[j];
      if (!a.offset.empty() && b.offset[0] >= a.offset[0] + a.extent[0]) break;
      if (std::optional<Slice> shared = intersection(a, b)) return shared;
    }
  }
  return std::nullopt;
}

}  // namespace

Slice whole(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

std::optional<std::int64_t> checked_numel(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return {};
  }
  return count;
}

std::optional<std::int64_t> checked_bytes(const Shape& shape, DType dtype) {
  std::optional<std::int64_t> bytes = checked_numel(shape);
  if (!bytes ||
      __builtin_mul_overflow(*bytes, static_cast<std::int64_t>(size_of(dtype)),
                             &*bytes)) {
    return {};
  }
  return bytes;
}

std::int64_t numel(const Shape& shape) {
  const std::optional<std::int64_t> count = checked_numel(shape);
  MERAK_CHECK(count.has_value(), "shape {}", text(shape));
  return *count;
}

bool is_inside(const Slice& slice, const Shape& shape) {
  if (slice.offset.size() != shape.size() ||
      slice.extent.size() != shape.size()) {
    return false;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (slice.offset[d] < 0 || slice.extent[d] < 0 ||
        slice.offset[d] > shape[d] ||
        slice.extent[d] > shape[d] - slice.offset[d]) {
      return false;
    }
  }
  return true;
}

std::optional<Slice> intersection(const Slice& a, const Slice& b) {
  Slice shared = a;
  for (std::size_t d = 0; d < a.offset.size(); ++d) {
    const std::int64_t begin = std::max(a.offset[d], b.offset[d]);
    const std::int64_t end =
        std::min(a.offset[d] + a.extent[d], b.offset[d] + b.extent[d]);
    if (begin >= end) return std::nullopt;
    shared.offset[d] = begin;
    shared.extent[d] = end - begin;
  }
  return shared;
}

std::int64_t copy_overlap(std::span<const std::byte> source,
                          const Slice& source_slice,
                          std::span<std::byte> target,
                          const Slice& target_slice, std::size_t element_size) {
  const std::optional<Slice> shared = intersection(source_slice, target_slice);
  if (!shared) return 0;
  const Shape& extent = shared->extent;
  const std::size_t dims = extent.size();
  const std::size_t joined =
      contiguous_dims(extent, source_slice, target_slice);
  // Dimensions before `outer` are walked, the rest is one run of memory.
  const std::size_t outer = dims > joined ? dims - joined - 1 : 0;
  std::int64_t run = 1;
  for (std::size_t d = outer; d < dims; ++d) run *= extent[d];
  const std::size_t run_bytes = static_cast<std::size_t>(run) * element_size;

  Shape at = shared->offset;
  while (true) {
    const auto from = static_cast<std::size_t>(position(at, source_slice));
    const auto to = static_cast<std::size_t>(position(at, target_slice));
    std::memcpy(target.subspan(to * element_size, run_bytes).data(),
                source.subspan(from * element_size, run_bytes).data(),
                run_bytes);
    std::size_t d = outer;
    while (d > 0 && ++at[d - 1] == shared->offset[d - 1] + extent[d - 1]) {
      at[d - 1] = shared->offset[d - 1];
      --d;
    }
    if (d == 0) return numel(extent);
  }
}

std::string coverage_problem(const Shape& shape, std::span<const Slice> parts) {
  if (const std::optional<Slice> shared = first_shared(parts)) {
    return fmt::format("elements {} are held twice", text(*shared));
  }
  std::int64_t held = 0;
  for (const Slice& part : parts) held += numel(part.extent);
  if (held == numel(shape)) return {};
  return fmt::format("elements {} are missing", text(first_gap(shape, parts)));
}

std::string text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string text(const Slice& slice) {
  std::vector<std::string> ranges;
  for (std::size_t d = 0; d < slice.offset.size(); ++d) {
    ranges.push_back(fmt::format("{}:{}", slice.offset[d],
                                 slice.offset[d] + slice.extent[d]));
  }
  return fmt::format("[{}]", fmt::join(ranges, ", "));
}

}  // namespace merak::checkpoint
