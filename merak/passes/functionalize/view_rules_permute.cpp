#include <algorithm>
#include <numeric>
#include <utility>

#include "merak/passes/functionalize/view_rules.h"

namespace merak::passes {
namespace {

using Order = std::vector<std::int64_t>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

Order order_as_it_is(std::size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

ViewStep step_of(Order order) {
  if (std::is_sorted(order.begin(), order.end())) return {};
  return {.kind = ViewKind::kPermute, .list = std::move(order)};
}

ViewStep swap(std::size_t rank, std::int64_t a, std::int64_t b) {
  Order order = order_as_it_is(rank);
  if (rank > 0) std::swap(order[index(a)], order[index(b)]);
  return step_of(std::move(order));
}

MaybeStep transpose(const ViewCall& call) {
  return swap(call.rank(), call.dim(1), call.dim(2));
}

MaybeStep swap_last_two(const ViewCall& call) {
  const auto rank = static_cast<std::int64_t>(call.rank());
  return rank < 2 ? ViewStep{} : swap(call.rank(), rank - 2, rank - 1);
}

MaybeStep reverse(const ViewCall& call) {
  Order order = order_as_it_is(call.rank());
  std::reverse(order.begin(), order.end());
  return step_of(std::move(order));
}

MaybeStep permute(const ViewCall& call) {
  Order order = graph::ints_argument(call.node, 1);
  for (std::int64_t& dim : order) dim = graph::wrap_dim(dim, call.rank());
  return step_of(std::move(order));
}

// A list of dimensions, or one.
Order dims_argument(const ViewCall& call, std::size_t position) {
  Order dims = graph::ints_argument(call.node, position);
  if (dims.empty()) return {call.dim(position)};
  for (std::int64_t& dim : dims) dim = graph::wrap_dim(dim, call.rank());
  return dims;
}

// The dimensions that are not moved keep their order.
MaybeStep move_dims(const ViewCall& call) {
  if (call.rank() == 0) return ViewStep{};
  const Order from = dims_argument(call, 1);
  const Order to = dims_argument(call, 2);
  Order order(call.rank(), -1);
  for (std::size_t i = 0; i < from.size(); ++i) order[index(to[i])] = from[i];
  auto place = order.begin();
  for (std::int64_t dim : order_as_it_is(call.rank())) {
    if (std::find(from.begin(), from.end(), dim) != from.end()) continue;
    place = std::find(place, order.end(), -1);
    *place = dim;
  }
  return step_of(std::move(order));
}

constexpr ViewRule kRules[] = {
    {"t", reverse},
    {"numpy_T", reverse},
    {"transpose", transpose},
    {"swapaxes", transpose},
    {"swapdims", transpose},
    {"mT", swap_last_two},
    {"mH", swap_last_two},
    {"matrix_H", swap_last_two},
    {"adjoint", swap_last_two},
    {"permute", permute},
    {"movedim", move_dims},
    {"moveaxis", move_dims},
};

}  // namespace

std::span<const ViewRule> permute_rules() { return kRules; }

}  // namespace merak::passes
