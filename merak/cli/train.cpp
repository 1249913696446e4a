#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  add_config(app, options->config);
  app.add_option("--ranks", options->ranks,
                 "local ranks to start when no launcher did (default: the "
                 "product of the degrees, else the cores)")
      ->check(within(1));
  add_json(app, options->json);
  return [options] { return train(*options); };
}

}  // namespace merak::cli
