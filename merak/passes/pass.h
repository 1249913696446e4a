// Passes over graphs, and the one way to run them.
//
// A pass is a free function in a file of its own that rewrites a graph and says
// whether it changed it. Rewriters do not check their input beyond what they
// match; graph::verify runs after every pass. docs/add-a-pass.md is the recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::passes {

struct PassOptions {
  std::vector<std::string> disabled = {};  // optional passes, by name
  // loss_to_sum_and_count: samples in the micro-batch, for losses that are
  // averaged over samples. 0: the first size of the user inputs.
  std::int64_t samples = 0;
  // loss_to_sum_and_count: drop every output but the loss and "buffer:..".
  bool loss_only = true;
};

using PassFunction = bool (*)(graph::Graph&, const PassOptions&);

struct Pass {
  std::string_view name;
  PassFunction run;
  bool optional = false;  // the result is as correct without it
};

struct PassReport {
  std::string_view name;
  bool changed = false;
  double seconds = 0;
  std::size_t nodes = 0;  // afterwards
};

// Runs and verifies. An error of verification names the pass.
PassReport run_pass(graph::Graph& graph, const Pass& pass,
                    const PassOptions& options);

// Runs the passes in order, except those disabled. Usage error if a disabled
// name is no optional pass of any pipeline.
std::vector<PassReport> run_pipeline(graph::Graph& graph,
                                     std::span<const Pass> passes,
                                     const PassOptions& options);

// From the model graph as captured, writes included, to what is partitioned for
// training.
std::span<const Pass> training_passes();

// On each stage's graph: what should not bind stages to each other.
std::span<const Pass> stage_passes();

}  // namespace merak::passes
