#include "merak/runtime/generate.h"

#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"
#include "merak/run/saved_model.h"

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

int generate(const GenerateOptions& options) {
  runtime::SamplingOptions sampling;
  sampling.max_new_tokens = options.max_new_tokens;
  sampling.temperature = options.temperature;
  sampling.top_k = options.top_k;
  sampling.top_p = options.top_p;
  sampling.seed = static_cast<std::uint64_t>(options.seed);
  runtime::check(sampling);
  const run::SavedModel saved = run::load_saved(options.path);
  const data::Tokenizer& tokenizer = *saved.tokenizer;
  std::vector<std::int32_t> prompt(tokenizer.prompt_prefix().begin(),
                                   tokenizer.prompt_prefix().end());
  const std::vector<std::int32_t> text = tokenizer.encode(options.prompt);
  prompt.insert(prompt.end(), text.begin(), text.end());
  if (!options.json) print(options.prompt);
  const auto show = [&](std::int32_t token) {
    if (options.json) return;
    print(tokenizer.decode({&token, 1}));
    finish_output();
  };
  const std::vector<std::int32_t> tokens =
      runtime::generate(*saved.module, saved.spec, prompt, sampling,
                        tokenizer.end_of_text().value_or(-1), show);
  if (options.json) {
    print_json({{"prompt", options.prompt},
                {"text", tokenizer.decode(tokens)},
                {"tokens", tokens}});
  } else {
    print("\n");
  }
  return 0;
}

}  // namespace merak::cli
