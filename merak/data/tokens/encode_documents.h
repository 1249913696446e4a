// Text files to tokens, on all cores, in the order of the documents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "merak/data/tokenizer/tokenizer.h"
#include "merak/data/tokens/documents.h"

namespace merak::data {

struct EncodeProgress {
  std::filesystem::path file;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t tokens = 0;  // of this file so far
};

struct EncodeOptions {
  int threads = 0;                                      // 0: one a core
  std::function<void(const EncodeProgress&)> progress;  // may be empty
};

using DocumentSink = std::function<void(std::span<const std::int32_t>)>;

// Hands each document's tokens to `sink`, documents without tokens left out.
// Calls `sink` and `progress` on the calling thread. Memory is bounded by some
// megabytes of text, or one document if that is larger. Errors of the
// tokenizer are given the file and line.
void encode_documents(DocumentReader& reader, const InputFile& input,
                      const Tokenizer& tokenizer, const EncodeOptions& options,
                      const DocumentSink& sink);

}  // namespace merak::data
