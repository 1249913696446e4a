#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_trace(CLI::App& app) {
  auto options = std::make_shared<TraceOptions>();
  add_config(app, options->config);
  app.add_option("--level", options->level, "model, shards, stages or program")
      ->check(CLI::IsMember({"model", "shards", "stages", "program"}))
      ->capture_default_str();
  add_output(app, options->output, "file to write instead of printing");
  add_json(app, options->json);
  return [options] { return trace(*options); };
}

}  // namespace merak::cli
