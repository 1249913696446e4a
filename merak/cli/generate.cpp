#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  app.add_option("PATH", options->path, "checkpoint or Hugging Face folder")
      ->required();
  app.add_option("--prompt", options->prompt, "text to go on with")->required();
  app.add_option("--max-new-tokens", options->max_new_tokens, "tokens to add")
      ->check(within(1))
      ->capture_default_str();
  app.add_option("--temperature", options->temperature,
                 "0: always the likeliest token")
      ->check(within(0, 1e6))
      ->capture_default_str();
  app.add_option("--top-k", options->top_k,
                 "sample from the k likeliest only; 0: from all")
      ->check(within(0))
      ->capture_default_str();
  app.add_option("--top-p", options->top_p,
                 "sample from the likeliest that sum to p only")
      ->check(within(0, 1))
      ->capture_default_str();
  app.add_option("--seed", options->seed, "the same seed, the same text")
      ->check(within(0, 9e18))
      ->capture_default_str();
  add_json(app, options->json);
  return [options] { return generate(*options); };
}

}  // namespace merak::cli
