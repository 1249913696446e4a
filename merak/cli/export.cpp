#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  app.add_option("CHECKPOINT", options->checkpoint, "a step-... folder")
      ->required();
  app.add_option("-o,--output", options->output,
                 "folder for config.json and model.safetensors")
      ->required();
  add_json(app, options->json);
  return [options] { return export_folder(*options); };
}

}  // namespace merak::cli
