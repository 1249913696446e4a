#include "merak/passes/functionalize/testing/shared_tensor.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace merak::passes::testing {
namespace {

using graph::Shape;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::size_t count(const Shape& shape) {
  std::size_t n = 1;
  for (std::int64_t size : shape) n *= index(size);
  return n;
}

std::size_t row_major(const Shape& shape, const Place& place) {
  std::size_t flat = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    flat = flat * index(shape[i]) + index(place[i]);
  }
  return flat;
}

// Calls f for every place of a shape, row by row.
void for_each_place(const Shape& shape,
                    const std::function<void(const Place&)>& f) {
  Place place(shape.size());
  for (std::size_t n = count(shape); n > 0; --n) {
    f(place);
    for (std::size_t dim = shape.size(); dim-- > 0;) {
      if (++place[dim] < shape[dim]) break;
      place[dim] = 0;
    }
  }
}

}  // namespace

Tensor Tensor::make(Shape shape, Numbers numbers) {
  Tensor tensor{
      std::make_shared<Numbers>(std::move(numbers)), std::move(shape), {}};
  tensor.addresses.resize(tensor.memory->size());
  std::iota(tensor.addresses.begin(), tensor.addresses.end(), 0);
  return tensor;
}

Numbers Tensor::numbers() const {
  Numbers numbers;
  for (std::size_t address : addresses) numbers.push_back((*memory)[address]);
  return numbers;
}

void Tensor::assign(const Numbers& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    (*memory)[addresses[i]] = given[i];
  }
}

Tensor Tensor::seen_as(
    Shape other, const std::function<Place(const Place&)>& place_here) const {
  Tensor seen{memory, std::move(other), {}};
  for_each_place(seen.shape, [&](const Place& place) {
    seen.addresses.push_back(addresses[row_major(shape, place_here(place))]);
  });
  return seen;
}

bool Tensor::is_contiguous() const {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] != addresses[0] + i) return false;
  }
  return true;
}

bool Tensor::has_strides_as(const Shape& other) const {
  const auto address = [&](std::size_t i) {
    return static_cast<std::int64_t>(addresses[i]);
  };
  Place strides(other.size());
  for (std::size_t dim = 0; dim < other.size(); ++dim) {
    if (other[dim] == 1) continue;
    Place neighbour(other.size());
    neighbour[dim] = 1;
    strides[dim] = address(row_major(other, neighbour)) - address(0);
  }
  bool fits = true;
  for_each_place(other, [&](const Place& place) {
    const std::int64_t expected = std::inner_product(
        place.begin(), place.end(), strides.begin(), address(0));
    fits = fits && address(row_major(other, place)) == expected;
  });
  return fits;
}

Tensor select(const Tensor& t, std::size_t dim, std::int64_t at) {
  Shape shape = t.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return t.seen_as(shape, [&](Place place) {
    place.insert(place.begin() + static_cast<std::ptrdiff_t>(dim),
                 at < 0 ? at + t.shape[dim] : at);
    return place;
  });
}

Tensor slice(const Tensor& t, std::size_t dim, std::int64_t start,
             std::int64_t end, std::int64_t step) {
  Shape shape = t.shape;
  shape[dim] = (std::min(end, t.shape[dim]) - start + step - 1) / step;
  return t.seen_as(shape, [&](Place place) {
    place[dim] = start + step * place[dim];
    return place;
  });
}

Tensor permute(const Tensor& t, const Place& order) {
  Shape shape;
  for (std::int64_t dim : order) shape.push_back(t.shape[index(dim)]);
  return t.seen_as(shape, [&](const Place& place) {
    Place here(place.size());
    for (std::size_t i = 0; i < place.size(); ++i) {
      here[index(order[i])] = place[i];
    }
    return here;
  });
}

Tensor transpose(const Tensor& t, std::size_t a, std::size_t b) {
  Place order(t.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[a], order[b]);
  return permute(t, order);
}

Tensor expand(const Tensor& t, const Shape& shape) {
  return t.seen_as(shape, [&](const Place& place) {
    Place here(place.end() - static_cast<std::ptrdiff_t>(t.shape.size()),
               place.end());
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (t.shape[i] == 1) here[i] = 0;
    }
    return here;
  });
}

Tensor diagonal(const Tensor& t, std::int64_t offset) {
  const std::int64_t rows = std::max<std::int64_t>(-offset, 0);
  const std::int64_t columns = std::max<std::int64_t>(offset, 0);
  const std::int64_t size = std::min(t.shape[0] - rows, t.shape[1] - columns);
  return t.seen_as({size}, [&](const Place& place) {
    return Place{place[0] + rows, place[0] + columns};
  });
}

Tensor copy_of(const Tensor& t) { return Tensor::make(t.shape, t.numbers()); }

Tensor reshape(const Tensor& t, const Shape& shape) {
  if (!t.has_strides_as(shape)) return Tensor::make(shape, t.numbers());
  return {t.memory, shape, t.addresses};
}

}  // namespace merak::passes::testing
