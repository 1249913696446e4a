// Reading a node's arguments by position. Exporters may leave trailing
// arguments out where they have their default: a missing argument and `none`
// give the fallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::graph {

ValueId tensor_argument(const Node& node, std::size_t position);  // kNoValue
bool bool_argument(const Node& node, std::size_t position, bool fallback);
std::int64_t int_argument(const Node& node, std::size_t position,
                          std::int64_t fallback);
// Integers are taken too: a scalar may be written 1 or 1.0.
double real_argument(const Node& node, std::size_t position, double fallback);
std::vector<std::int64_t> ints_argument(const Node& node, std::size_t position);

// A dimension as an operator gives it, -1 for the last, as 0 .. rank - 1.
inline std::int64_t wrap_dim(std::int64_t dim, std::size_t rank) {
  return dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
}

}  // namespace merak::graph
