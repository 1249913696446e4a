#include "merak/run/rank_run.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "merak/cli/app.h"
#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"
#include "merak/dist/gloo/session.h"
#include "merak/dist/launch/launcher.h"
#include "merak/run/prepare.h"

namespace merak::cli {
namespace {

// This command again, for ranks that a launcher of ours starts.
std::vector<std::string> command_of(const TrainOptions& options) {
  std::vector<std::string> command = {
      std::filesystem::read_symlink("/proc/self/exe").string(), "train",
      options.config.file};
  for (const std::string& item : options.config.set) {
    command.emplace_back("--set");
    command.push_back(item);
  }
  if (options.json) command.emplace_back("--json");
  return command;
}

int start_ranks(const TrainOptions& options, std::int64_t ranks) {
  dist::LaunchOptions request;
  request.command = command_of(options);
  request.local_ranks = static_cast<int>(ranks);
  request.hand_over_listener = true;
  request.on_message = [](const std::string& line) {
    spdlog::error("{}", line);
  };
  return dist::launch(request).exit_code;
}

nlohmann::json json_of(const config::Config& config,
                       const run::RunResult& result) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  return {{"run", config.run.dir},
          {"steps", result.steps},
          {"loss", number(result.loss)},
          {"validation_loss", number(result.validation_loss)},
          {"unigram_entropy", number(result.unigram_entropy)},
          {"tokens_per_s", number(result.tokens_per_second)},
          {"stopped_by_signal", result.stopped_by}};
}

// What was trained, or that nothing was left to train.
std::string progress_text(const config::Config& config,
                          const run::RunResult& result) {
  if (!result.loss && result.stopped_by == 0) {
    return fmt::format(
        "the run is at its last step already: {} steps are done, train.steps "
        "is {}; with more the same command goes on\n",
        result.steps, config.train.steps);
  }
  std::string text = fmt::format("{} steps", result.steps);
  if (result.loss) text += fmt::format(", loss {:.4f}", *result.loss);
  if (result.tokens_per_second) {
    text += fmt::format(", {:.0f} tokens/s", *result.tokens_per_second);
  }
  return text + "\n";
}

std::string text_of(const config::Config& config,
                    const run::RunResult& result) {
  std::string text = progress_text(config, result);
  if (result.validation_loss) {
    text += fmt::format("validation loss {:.4f}", *result.validation_loss);
    if (result.unigram_entropy) {
      text += fmt::format("; unigram entropy {:.4f} (nats a token)",
                          *result.unigram_entropy);
    }
    text += "\n";
  }
  if (result.stopped_by != 0) {
    text += fmt::format("stopped by signal {}; the same command goes on\n",
                        result.stopped_by);
  }
  return text + fmt::format("run folder {}\n", config.run.dir);
}

int train_here(const TrainOptions& options, const config::Config& config,
               const dist::LaunchEnvironment& environment) {
  dist::quiet_c10d();
  const run::RunResult result = run::train_rank(
      config, environment, [&] { return runtime::load_model(config); });
  if (environment.rank == 0) {
    if (options.json) {
      print_json(json_of(config, result));
    } else {
      print(text_of(config, result));
    }
  }
  return result.stopped_by == 0 ? 0 : 128 + result.stopped_by;
}

// A rank of several that fails has threads that may never end.
int train_beside_others(const TrainOptions& options,
                        const config::Config& config,
                        const dist::LaunchEnvironment& environment) {
  try {
    return train_here(options, config, environment);
  } catch (const Error& error) {
    _exit(print_error(error.what(), exit_code(error.kind())));
  }
}

}  // namespace

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

int train(const TrainOptions& options) {
  const config::Loaded loaded = options.config.load();
  config::check_training(loaded.config, loaded.origins);
  const config::Config& config = loaded.config;
  const dist::LaunchEnvironment environment = dist::read_launch_environment();
  if (environment.launcher != dist::Launcher::kNone) {
    return train_beside_others(options, config, environment);
  }
  const std::int64_t ranks = local_world(options.ranks, config);
  run::prepare(config, config::resolve_layout(config, ranks));
  if (ranks > 1) return start_ranks(options, ranks);
  return train_here(options, config, environment);
}

}  // namespace merak::cli
