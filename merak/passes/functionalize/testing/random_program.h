// Random graphs of views and writes, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "merak/graph/graph.h"
#include "merak/passes/functionalize/testing/shared_tensor.h"

namespace merak::passes::testing {

struct Program {
  graph::Graph graph;
  std::map<std::string, Tensor> inputs;  // by name
};

// Nothing that functionalize refuses: no writes to user inputs nor through
// expanded views. The same program for the same seed, everywhere.
Program random_program(std::uint32_t seed, int nodes);

}  // namespace merak::passes::testing
