// `merak tokenize`: text files to Megatron-LM's PREFIX.bin and PREFIX.idx.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "merak/data/tokenizer/tokenizer.h"
#include "merak/data/tokens/encode_documents.h"

namespace merak::data {

struct TokenizeResult {
  std::uint64_t files = 0;
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  std::string token_type;  // "u16"
};

// `patterns` are text files (.txt, .jsonl) as in input_files.h. Each document
// but the last ends with the end-of-text token, so training on the result
// sees exactly the tokens that training on the text would. The folder of
// `prefix` is made if missing; both files appear whole or not at all.
TokenizeResult tokenize(std::span<const std::string> patterns,
                        const Tokenizer& tokenizer,
                        const std::filesystem::path& prefix,
                        const EncodeOptions& options = {});

}  // namespace merak::data
