// One step of a view: which elements of a tensor another one looks at.
//
// ATen's many view operators come down to a few kinds of steps; each piece of
// a split is a slice, each piece of an unbind a selection. A new tensor that
// looks at all as it is, such as a slice of everything, is kSame. Where an
// operator gives back its very argument (`contiguous` of what is contiguous,
// dropout in evaluation) there is no new tensor: that is kSelf, and what
// changes the shape of the one in place changes that of the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::passes {

enum class ViewKind : std::uint8_t {
  kSelf,  // the viewed tensor itself
  kSame,
  kDetach,    // the same elements, without their gradient
  kSelect,    // of dimension `dim` the index `start`
  kSlice,     // of dimension `dim` from `start` before `end` in steps of `step`
  kPermute,   // `list`: the order of dimensions
  kReshape,   // to the result's shape
  kExpand,    // to the result's shape; elements overlap
  kDiagonal,  // `list`: offset and the two dimensions
  kOpaque,    // the memory is shared in some other way (as_strided, unfold)
};

struct ViewStep {
  ViewKind kind = ViewKind::kSame;
  std::int64_t dim = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
  std::vector<std::int64_t> list = {};
  bool operator==(const ViewStep&) const = default;
};

// The value whose memory a result of a node may look at: argument 0, or a
// member of that list. kNoValue: none, or the operator is no view.
graph::ValueId viewed_value(const graph::Node& node, std::size_t result);

// How a result looks at that value; nothing if it has memory of its own.
// `viewed`: the value's type, strides filled in.
std::optional<ViewStep> view_step(const graph::Graph& graph,
                                  const graph::Node& node, std::size_t result,
                                  const graph::TensorType& viewed);

}  // namespace merak::passes
