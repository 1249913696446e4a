// Thousands of random programs of views and writes: what the functional graph
// computes is what an eager machine computes with shared memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "merak/graph/text.h"
#include "merak/graph/verify.h"
#include "merak/passes/functionalize/functionalize.h"
#include "merak/passes/functionalize/testing/machine.h"
#include "merak/passes/functionalize/testing/random_program.h"

namespace merak::passes {
namespace {

using graph::Graph;
using testing::Machine;
using testing::Numbers;
using testing::Program;

constexpr std::uint32_t kPrograms = 5000;
constexpr int kNodes = 16;

using Results = std::map<std::string, Numbers>;

// The numbers of all outputs, and of all buffers afterwards.
Results results_of(const Graph& graph, const Program& program, bool share) {
  Machine machine(graph, share);
  for (const graph::Input& input : graph.inputs()) {
    machine.set(input.value, copy_of(program.inputs.at(input.name)));
  }
  machine.run();
  Results results;
  for (const graph::Input& input : graph.inputs()) {
    if (input.kind != graph::InputKind::kBuffer) continue;
    results["buffer:" + input.name] = machine.at(input.value)->numbers();
  }
  for (const graph::Output& output : graph.outputs()) {
    results[output.name] = machine.at(output.value)->numbers();
  }
  return results;
}

TEST(RandomPrograms, ComputeTheSameWithoutWrites) {
  std::size_t put_back = 0;
  std::size_t buffers = 0;
  for (std::uint32_t seed = 0; seed < kPrograms; ++seed) {
    const Program program = testing::random_program(seed, kNodes);
    Graph pure = program.graph;
    functionalize(pure, {});
    verify(pure);
    const Results expected = results_of(program.graph, program, true);
    for (bool share : {true, false}) {
      ASSERT_EQ(results_of(pure, program, share), expected)
          << "seed " << seed << "\n"
          << print(program.graph) << print(pure);
    }
    put_back += static_cast<std::size_t>(std::count_if(
        pure.nodes().begin(), pure.nodes().end(), [](const auto& node) {
          return node.op.find("_scatter") != std::string::npos;
        }));
    buffers += pure.find_output("buffer:state") != nullptr;
  }
  // The programs are about what they should be.
  EXPECT_GT(put_back, kPrograms);
  EXPECT_GT(buffers, kPrograms / 10);
}

}  // namespace
}  // namespace merak::passes
