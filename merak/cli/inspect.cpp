#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  app.add_option("PATH", options->path,
                 "checkpoint, plan, .safetensors, .idx or .pt2")
      ->required();
  add_json(app, options->json);
  return [options] { return inspect(*options); };
}

}  // namespace merak::cli
