#include "merak/checkpoint/export_hf.h"

#include <fmt/core.h>

#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"
#include "merak/run/saved_model.h"

namespace merak::cli {

Action add_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  app.add_option("CHECKPOINT", options->checkpoint,
                 "a step-... folder, or a run folder: its newest")
      ->required();
  app.add_option("-o,--output", options->output,
                 "folder for config.json and model.safetensors")
      ->required();
  add_json(app, options->json);
  return [options] { return export_folder(*options); };
}

int export_folder(const ExportOptions& options) {
  const checkpoint::Checkpoint saved = run::open_saved(options.checkpoint);
  checkpoint::export_hf(saved, options.output);
  if (options.json) {
    print_json({{"checkpoint", saved.folder().string()},
                {"step", saved.step()},
                {"output", options.output}});
  } else {
    print(fmt::format(
        "{0}/config.json, {0}/model.safetensors: the weights of {1}\n",
        options.output, saved.folder().string()));
  }
  return 0;
}

}  // namespace merak::cli
