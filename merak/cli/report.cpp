#include <memory>

#include "merak/base/error.h"
#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  app.add_option("RUN", options->run, "run folder")->required();
  app.add_option("-o,--output", options->output, "HTML file to write")
      ->required();
  return [options] { return report(*options); };
}

int report(const ReportOptions& options) {
  fail_usage(
      "merak report is not supported yet (for {}); metrics.jsonl and "
      "tensorboard/ of the run folder hold the curves",
      options.run);
}

}  // namespace merak::cli
