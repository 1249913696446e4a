#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  add_config(app, options->config);
  app.add_option("--steps", options->steps, "steps to train in both ways")
      ->check(within(1))
      ->capture_default_str();
  app.add_option("--ranks", options->ranks, "as for merak train")
      ->check(within(1));
  add_json(app, options->json);
  return [options] { return verify(*options); };
}

}  // namespace merak::cli
