// The tokens of a text file, made once and kept in a cache folder as a flat,
// memory-mapped file (docs/formats/token_files.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "merak/data/tokens/encode_documents.h"
#include "merak/data/tokens/token_array.h"

namespace merak::data {

// Tokens and whatever keeps their memory alive.
struct TextTokens {
  std::shared_ptr<const void> owner;
  TokenArray array;
};

// The documents of a text file, joined with the end-of-text token if the
// tokenizer has one.
//
// With a cache folder (made if missing) the tokens are read from there if a
// sound cache for the same content, tokenizer and kind of file exists; else
// they are made and written there, whole or not at all. One process does the
// work while others on the same machine wait. Without a folder they are made
// each time and stay in memory.
TextTokens text_tokens(const InputFile& input, const Tokenizer& tokenizer,
                       const std::filesystem::path& cache_folder,
                       const EncodeOptions& options);

}  // namespace merak::data
