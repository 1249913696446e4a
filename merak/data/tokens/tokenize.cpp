#include "merak/data/tokens/tokenize.h"

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/data/tokens/input_files.h"
#include "merak/data/tokens/megatron_writer.h"

namespace merak::data {

TokenizeResult tokenize(std::span<const std::string> patterns,
                        const Tokenizer& tokenizer,
                        const std::filesystem::path& prefix,
                        const EncodeOptions& options) {
  const std::vector<InputFile> inputs = find_inputs(patterns, "tokenize");
  for (const InputFile& input : inputs) {
    if (!is_text(input.kind)) {
      fail_usage(
          "tokenize: {} holds tokens already; .txt and .jsonl can be "
          "tokenized",
          input.path.string());
    }
  }
  if (prefix.has_parent_path()) make_folder(prefix.parent_path());
  MegatronWriter writer(prefix, tokenizer.vocabulary_size());
  const auto end = tokenizer.end_of_text();
  bool open = false;
  for (const InputFile& input : inputs) {
    DocumentReader reader(input);
    encode_documents(reader, input, tokenizer, options,
                     [&](std::span<const std::int32_t> tokens) {
                       if (open) {
                         if (end) writer.append({&*end, 1});
                         writer.end_document();
                       }
                       writer.append(tokens);
                       open = true;
                     });
  }
  if (!open) fail_usage("tokenize: the files hold no text");
  writer.end_document();
  writer.finish();
  return {inputs.size(), writer.documents(), writer.tokens(),
          std::string(name_of(writer.type()))};
}

}  // namespace merak::data
