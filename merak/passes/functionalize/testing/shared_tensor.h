// A tensor of integers for tests: a shape and the address of every element.
//
// It has no strides, so that nothing of the pass's own reasoning is in here.
// Views share memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::passes::testing {

using Numbers = std::vector<std::int64_t>;
using Place = std::vector<std::int64_t>;  // of an element, an index a dimension

struct Tensor {
  std::shared_ptr<Numbers> memory;
  graph::Shape shape;
  std::vector<std::size_t> addresses;  // row by row

  static Tensor make(graph::Shape shape, Numbers numbers);
  Numbers numbers() const;
  void assign(const Numbers& given);
  // The same elements in another shape: what a view operator returns.
  Tensor seen_as(graph::Shape other,
                 const std::function<Place(const Place&)>& place_here) const;
  bool is_contiguous() const;
  // Whether some strides give these addresses in that shape.
  bool has_strides_as(const graph::Shape& other) const;
};

// Views. Dimensions and starts are not negative; the index of select may be.
Tensor select(const Tensor& tensor, std::size_t dim, std::int64_t at);
Tensor slice(const Tensor& tensor, std::size_t dim, std::int64_t start,
             std::int64_t end, std::int64_t step);
Tensor permute(const Tensor& tensor, const Place& order);
Tensor transpose(const Tensor& tensor, std::size_t a, std::size_t b);
Tensor expand(const Tensor& tensor, const graph::Shape& shape);
Tensor diagonal(const Tensor& tensor, std::int64_t offset);

Tensor copy_of(const Tensor& tensor);
// A view if strides allow it, else a copy.
Tensor reshape(const Tensor& tensor, const graph::Shape& shape);

}  // namespace merak::passes::testing
