#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_tokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  app.add_option("--tokenizer", options->tokenizer,
                 "tokenizer.json, SentencePiece .model, or bytes")
      ->required();
  app.add_option("--output", options->output, "writes PREFIX.bin, PREFIX.idx")
      ->required()
      ->option_text("PREFIX");
  app.add_option("FILES", options->files, ".txt or .jsonl files")->required();
  add_json(app, options->json);
  return [options] { return tokenize(*options); };
}

}  // namespace merak::cli
