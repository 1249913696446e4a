#include "merak/passes/functionalize/layout.h"

#include <algorithm>

#include "merak/base/error.h"
#include "merak/graph/text.h"

namespace merak::passes {
namespace {

using graph::Shape;
using graph::TensorType;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Dimensions that lie behind each other without gaps, as one.
struct Run {
  std::int64_t size;
  std::int64_t stride;  // of its innermost dimension
};

// From the innermost outwards.
std::vector<Run> runs_of(const Shape& shape, const Strides& strides) {
  std::vector<Run> runs;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (!runs.empty() && strides[i] == runs.back().stride * runs.back().size) {
      runs.back().size *= shape[i];
    } else {
      runs.push_back({shape[i], strides[i]});
    }
  }
  return runs;
}

Strides expanded_strides(const TensorType& viewed, const Shape& shape) {
  const std::size_t lead = shape.size() - viewed.shape.size();
  Strides strides(shape.size(), 0);
  for (std::size_t i = lead; i < shape.size(); ++i) {
    if (viewed.shape[i - lead] == shape[i]) {
      strides[i] = viewed.strides[i - lead];
    }
  }
  return strides;
}

Strides diagonal_strides(Strides strides, std::int64_t first,
                         std::int64_t second) {
  strides.push_back(strides[index(first)] + strides[index(second)]);
  strides.erase(strides.begin() + std::max(first, second));
  strides.erase(strides.begin() + std::min(first, second));
  return strides;
}

Strides strides_after(const ViewStep& step, const TensorType& viewed,
                      const Shape& shape) {
  Strides strides = viewed.strides;
  MERAK_CHECK(index(step.dim) <= strides.size() &&
                  viewed.shape.size() == strides.size(),
              "dimension {} of a view of {} with {} strides", step.dim,
              print(viewed), strides.size());
  switch (step.kind) {
    case ViewKind::kSelf:
    case ViewKind::kSame:
    case ViewKind::kDetach:
      return strides;
    case ViewKind::kSelect:
      strides.erase(strides.begin() + step.dim);
      return strides;
    case ViewKind::kSlice:
      strides[index(step.dim)] *= step.step;
      return strides;
    case ViewKind::kPermute:
      for (std::size_t i = 0; i < strides.size(); ++i) {
        strides[i] = viewed.strides[index(step.list[i])];
      }
      return strides;
    case ViewKind::kReshape:
      return reshaped_strides(viewed.shape, viewed.strides, shape)
          .value_or(contiguous_strides(shape));
    case ViewKind::kExpand:
      return expanded_strides(viewed, shape);
    case ViewKind::kDiagonal:
      return diagonal_strides(strides, step.list[1], step.list[2]);
    case ViewKind::kOpaque:
      break;
  }
  return contiguous_strides(shape);
}

}  // namespace

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  if (std::count(shape.begin(), shape.end(), 0) > 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::optional<Strides> reshaped_strides(const Shape& from,
                                        const Strides& strides,
                                        const Shape& to) {
  if (std::count(from.begin(), from.end(), 0) > 0) {
    return contiguous_strides(to);
  }
  std::vector<Run> runs = runs_of(from, strides);
  Strides result(to.size(), 1);
  std::size_t at = 0;
  for (std::size_t i = to.size(); i-- > 0;) {
    if (at < runs.size() && runs[at].size == 1) ++at;
    if (at == runs.size()) continue;  // only sizes of 1 are left
    Run& run = runs[at];
    if (run.size % to[i] != 0) return std::nullopt;
    result[i] = run.stride;
    run.stride *= to[i];
    run.size /= to[i];
  }
  return result;
}

TensorType with_strides(TensorType type) {
  if (type.strides.empty()) type.strides = contiguous_strides(type.shape);
  return type;
}

TensorType with_strides(TensorType type, const ViewStep& step,
                        const TensorType& viewed) {
  if (type.strides.empty()) {
    type.strides = strides_after(step, viewed, type.shape);
  }
  return type;
}

}  // namespace merak::passes
