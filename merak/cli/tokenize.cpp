#include "merak/data/tokens/tokenize.h"

#include <fmt/core.h>

#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"
#include "merak/data/tokenizer/load_tokenizer.h"

namespace merak::cli {

Action add_tokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  app.add_option("--tokenizer", options->tokenizer,
                 "tokenizer.json, its folder, or bytes")
      ->required();
  app.add_option("-o,--output", options->output,
                 "prefix: writes PREFIX.bin and PREFIX.idx")
      ->required();
  app.add_option("FILES", options->files, ".txt or .jsonl files, or patterns")
      ->required();
  add_json(app, options->json);
  return [options] { return tokenize(*options); };
}

int tokenize(const TokenizeOptions& options) {
  const auto tokenizer = data::load_tokenizer(options.tokenizer);
  const data::TokenizeResult result =
      data::tokenize(options.files, *tokenizer, options.output);
  if (options.json) {
    print_json({{"output", options.output},
                {"files", result.files},
                {"documents", result.documents},
                {"tokens", result.tokens},
                {"token_type", result.token_type},
                {"vocabulary", tokenizer->vocabulary_size()}});
  } else {
    print(
        fmt::format("{0}.bin, {0}.idx: {1} tokens ({2}) of {3} documents in "
                    "{4} files\n",
                    options.output, result.tokens, result.token_type,
                    result.documents, result.files));
  }
  return 0;
}

}  // namespace merak::cli
