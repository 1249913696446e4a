#include "merak/passes/check_randomness.h"

#include "merak/base/error.h"
#include "merak/graph/ops/catalogue.h"

namespace merak::passes {

bool check_randomness(graph::Graph& graph, const PassOptions&) {
  for (const graph::Node& node : graph.nodes()) {
    if (!is_random(node)) continue;
    fail_usage(
        "the model draws random numbers with {}{}, which would differ from "
        "layout to layout; dropout, feature dropout and attention dropout are "
        "supported",
        node.op,
        node.module.empty() ? "" : fmt::format(" in module '{}'", node.module));
  }
  return false;
}

}  // namespace merak::passes
