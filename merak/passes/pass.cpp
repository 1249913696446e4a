#include "merak/passes/pass.h"

#include <algorithm>
#include <chrono>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/graph/verify.h"
#include "merak/passes/check_randomness.h"
#include "merak/passes/eliminate_common_subexpressions.h"
#include "merak/passes/eliminate_dead_nodes.h"
#include "merak/passes/functionalize/functionalize.h"
#include "merak/passes/fuse_linear_cross_entropy.h"
#include "merak/passes/loss_to_sum_and_count.h"
#include "merak/passes/lower_dropout.h"

namespace merak::passes {
namespace {

constexpr Pass kTraining[] = {
    // First: the others take values for what they are.
    {"functionalize", functionalize},
    {"loss_to_sum_and_count", loss_to_sum_and_count},
    // Before anything that costs: only the loss is wanted, and the logits must
    // have one reader for the fusion below.
    {"eliminate_dead_nodes", eliminate_dead_nodes},
    {"lower_dropout", lower_dropout},
    {"check_randomness", check_randomness},
    {"fuse_linear_cross_entropy", fuse_linear_cross_entropy, true},
    // The fusion leaves transposes that nobody reads.
    {"eliminate_dead_nodes", eliminate_dead_nodes},
};

// Here and not on the model: a mask that every stage can make for itself would
// otherwise be made once and sent to all.
constexpr Pass kStage[] = {
    {"eliminate_common_subexpressions", eliminate_common_subexpressions, true},
    {"eliminate_dead_nodes", eliminate_dead_nodes},
};

void check_disabled(const PassOptions& options) {
  std::vector<std::string> known;
  for (std::span<const Pass> pipeline : {training_passes(), stage_passes()}) {
    for (const Pass& pass : pipeline) {
      if (pass.optional) known.emplace_back(pass.name);
    }
  }
  for (const std::string& name : options.disabled) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      fail_usage("'{}' is no pass that can be disabled; those are {}", name,
                 join(known, ", "));
    }
  }
}

}  // namespace

std::span<const Pass> training_passes() { return kTraining; }
std::span<const Pass> stage_passes() { return kStage; }

PassReport run_pass(graph::Graph& graph, const Pass& pass,
                    const PassOptions& options) {
  using Clock = std::chrono::steady_clock;
  PassReport report{.name = pass.name};
  const auto start = Clock::now();
  report.changed = pass.run(graph, options);
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  report.nodes = graph.nodes().size();
  try {
    graph::verify(graph);
  } catch (const Error& error) {
    fail<ErrorKind::kInternal>("after pass {}: {}", pass.name, error.what());
  }
  return report;
}

std::vector<PassReport> run_pipeline(graph::Graph& graph,
                                     std::span<const Pass> passes,
                                     const PassOptions& options) {
  check_disabled(options);
  std::vector<PassReport> reports;
  for (const Pass& pass : passes) {
    const bool disabled =
        std::find(options.disabled.begin(), options.disabled.end(),
                  pass.name) != options.disabled.end();
    if (!disabled) reports.push_back(run_pass(graph, pass, options));
  }
  return reports;
}

}  // namespace merak::passes
