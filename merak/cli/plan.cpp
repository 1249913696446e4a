#include <memory>

#include "merak/base/error.h"
#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_plan(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  add_config(app, options->config);
  app.add_option("--cluster", options->cluster, "description of the devices")
      ->required();
  app.add_option("--world", options->world, "ranks (default: all devices)")
      ->check(within(1));
  app.add_option("--top", options->top, "plans shown")->check(within(1));
  add_output(app, options->output, "plan.json to write");
  add_json(app, options->json);
  return [options] { return plan(*options); };
}

int plan(const PlanOptions& options) {
  fail_usage(
      "merak plan is not supported yet (for {}); set the degrees in [parallel] "
      "by hand, or leave them \"auto\"",
      options.config.file);
}

}  // namespace merak::cli
