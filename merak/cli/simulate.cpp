#include <memory>

#include "merak/base/error.h"
#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_simulate(CLI::App& app) {
  auto options = std::make_shared<SimulateOptions>();
  add_config(app, options->config);
  app.add_option("--cluster", options->cluster, "description of the devices")
      ->required();
  app.add_option("--plan", options->plan, "plan.json instead of [parallel]");
  app.add_option("--trace", options->trace, "Chrome trace to write");
  app.add_flag("--timeline", options->timeline, "print the timeline");
  add_json(app, options->json);
  return [options] { return simulate(*options); };
}

int simulate(const SimulateOptions& options) {
  fail_usage(
      "merak simulate is not supported yet (for {}); merak train with "
      "run.trace_steps = [2] records a step as it is",
      options.config.file);
}

}  // namespace merak::cli
