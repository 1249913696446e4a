#include <algorithm>

#include "merak/passes/functionalize/view_rules.h"

namespace merak::passes {
namespace {

using graph::int_argument;

MaybeStep slice_of(const ViewCall& call, std::int64_t dim, std::int64_t start,
                   std::int64_t end, std::int64_t step = 1) {
  if (start == 0 && end == call.size(dim) && step == 1) return ViewStep{};
  return ViewStep{ViewKind::kSlice, dim, start, end, step};
}

MaybeStep slice(const ViewCall& call) {
  const std::int64_t dim = call.dim(1);
  const std::int64_t size = call.size(dim);
  const auto bound = [&](std::size_t argument, std::int64_t fallback) {
    const std::int64_t given = int_argument(call.node, argument, fallback);
    return std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
  };
  const std::int64_t start = bound(2, 0);
  const std::int64_t end = std::max(start, bound(3, size));
  return slice_of(call, dim, start, end, int_argument(call.node, 4, 1));
}

std::int64_t length_of_result(const ViewCall& call, std::int64_t dim) {
  return call.result.shape[static_cast<std::size_t>(dim)];
}

MaybeStep narrow(const ViewCall& call) {
  if (graph::tensor_argument(call.node, 2) != graph::kNoValue) {
    return ViewStep{.kind = ViewKind::kOpaque};
  }
  const std::int64_t dim = call.dim(1);
  std::int64_t start = int_argument(call.node, 2, 0);
  if (start < 0) start += call.size(dim);
  return slice_of(call, dim, start, start + length_of_result(call, dim));
}

MaybeStep select(const ViewCall& call) {
  const std::int64_t dim = call.dim(1);
  std::int64_t at = int_argument(call.node, 2, 0);
  if (at < 0) at += call.size(dim);
  return ViewStep{.kind = ViewKind::kSelect, .dim = dim, .start = at};
}

MaybeStep unbind(const ViewCall& call) {
  return ViewStep{.kind = ViewKind::kSelect,
                  .dim = call.dim(1),
                  .start = static_cast<std::int64_t>(call.position)};
}

// Pieces lie behind each other: a piece starts where those before it end.
MaybeStep piece(const ViewCall& call, std::int64_t dim) {
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.position; ++i) {
    const graph::ValueId before = call.node.results[i];
    if (before == graph::kNoValue) return ViewStep{.kind = ViewKind::kOpaque};
    const graph::Shape& shape = call.graph.value(before).type.shape;
    start += shape[static_cast<std::size_t>(dim)];
  }
  return slice_of(call, dim, start, start + length_of_result(call, dim));
}

MaybeStep split(const ViewCall& call) { return piece(call, call.dim(2)); }
MaybeStep vsplit(const ViewCall& call) { return piece(call, 0); }
MaybeStep dsplit(const ViewCall& call) { return piece(call, 2); }
MaybeStep hsplit(const ViewCall& call) {
  return piece(call, call.rank() == 1 ? 0 : 1);
}

ViewStep diagonal_of(const ViewCall& call, std::int64_t first,
                     std::int64_t second) {
  return {.kind = ViewKind::kDiagonal,
          .list = {int_argument(call.node, 1, 0), call.dim(2, first),
                   call.dim(3, second)}};
}

MaybeStep diagonal(const ViewCall& call) { return diagonal_of(call, 0, 1); }
MaybeStep last_diagonal(const ViewCall& call) {
  return diagonal_of(call, -2, -1);
}

constexpr ViewRule kRules[] = {
    {"select", select},      {"unbind", unbind},
    {"slice", slice},        {"narrow", narrow},
    {"split", split},        {"split_with_sizes", split},
    {"unsafe_split", split}, {"unsafe_split_with_sizes", split},
    {"chunk", split},        {"unsafe_chunk", split},
    {"tensor_split", split}, {"hsplit", hsplit},
    {"vsplit", vsplit},      {"dsplit", dsplit},
    {"diagonal", diagonal},  {"linalg_diagonal", last_diagonal},
};

}  // namespace

std::span<const ViewRule> piece_rules() { return kRules; }

}  // namespace merak::passes
