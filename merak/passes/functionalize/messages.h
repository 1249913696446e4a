// How errors of this pass name a node.
#pragma once

#include <fmt/core.h>

#include <string>

#include "merak/graph/graph.h"

namespace merak::passes {

// "aten.add_.Tensor in module 'h.0'"
inline std::string name_of_node(const graph::Node& node) {
  if (node.module.empty()) return node.op;
  return fmt::format("{} in module '{}'", node.op, node.module);
}

}  // namespace merak::passes
