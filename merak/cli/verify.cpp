#include "merak/run/verify.h"

#include <fmt/core.h>

#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"

namespace merak::cli {
namespace {

nlohmann::json json_of(const config::Layout& layout,
                       const run::Verification& found) {
  return {{"equal", found.first_difference.empty()},
          {"layout",
           {{"data", layout.data},
            {"tensor", layout.tensor},
            {"pipeline", layout.pipeline}}},
          {"steps", found.steps},
          {"precision", found.precision},
          {"exact", found.exact},
          {"tolerance", found.tolerance},
          {"compared", found.compared},
          {"largest_difference", found.largest},
          {"first_difference", found.first_difference}};
}

std::string text_of(const config::Layout& layout,
                    const run::Verification& found) {
  const std::string what = fmt::format(
      "pipeline {} x data {} x tensor {} against one process, {} steps in {}",
      layout.pipeline, layout.data, layout.tensor, found.steps,
      found.precision);
  if (!found.first_difference.empty()) {
    return fmt::format("{}: different\nfirst: {}\n", what,
                       found.first_difference);
  }
  if (found.exact) {
    return fmt::format("{}: equal bit for bit ({} comparisons)\n", what,
                       found.compared);
  }
  return fmt::format(
      "{}: equal within {:.0e} relative; largest difference {:.2e} ({} "
      "comparisons)\n",
      what, found.tolerance, found.largest, found.compared);
}

}  // namespace

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

int verify(const VerifyOptions& options) {
  const config::Loaded loaded = options.config.load();
  config::check_training(loaded.config, loaded.origins);
  const config::Layout layout = config::resolve_layout(
      loaded.config, local_world(options.ranks, loaded.config));
  const run::Verification found =
      run::verify(loaded.config, layout, options.steps);
  if (options.json) {
    print_json(json_of(layout, found));
  } else {
    print(text_of(layout, found));
  }
  return found.first_difference.empty() ? 0 : 4;
}

}  // namespace merak::cli
