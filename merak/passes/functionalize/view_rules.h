// How single operators look at their argument; for view_step.cpp. One file a
// family, rows by name without overload.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "merak/graph/arguments.h"
#include "merak/passes/functionalize/view_step.h"

namespace merak::passes {

// What a rule may look at: a node, and which of its results.
struct ViewCall {
  const graph::Graph& graph;
  const graph::Node& node;
  std::size_t position;             // of the result
  const graph::TensorType& viewed;  // strides filled in
  const graph::TensorType& result;

  std::size_t rank() const { return viewed.shape.size(); }
  // A dimension that is an argument, as 0 .. rank - 1.
  std::int64_t dim(std::size_t argument, std::int64_t fallback = 0) const {
    return graph::wrap_dim(graph::int_argument(node, argument, fallback),
                           rank());
  }
  std::int64_t size(std::int64_t of_dim) const {
    return viewed.shape[static_cast<std::size_t>(of_dim)];
  }
};

using MaybeStep = std::optional<ViewStep>;  // nothing: a copy

struct ViewRule {
  std::string_view base;
  MaybeStep (*step)(const ViewCall&);
};

std::span<const ViewRule> reshape_rules();
std::span<const ViewRule> permute_rules();
std::span<const ViewRule> piece_rules();
std::span<const ViewRule> conversion_rules();

}  // namespace merak::passes
