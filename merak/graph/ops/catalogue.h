// What is known of operators.
#pragma once

#include <cstddef>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::graph {

// The positions of the arguments that a node writes to. By ATen's own
// convention (a trailing underscore, an overload `out`), and a table of those
// that write without saying so (batch_norm in training). Empty for operators
// of ours.
std::vector<std::size_t> written_arguments(const Node& node);

}  // namespace merak::graph
