// One long row of tokens: all input files, joined (docs/data_order.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "merak/data/tokenizer/tokenizer.h"
#include "merak/data/tokens/encode_documents.h"
#include "merak/data/tokens/token_array.h"

namespace merak::data {

// Immutable once built; reading is safe from any thread.
class TokenStream {
 public:
  // Tokens outside 0 .. vocabulary_size - 1 are refused when read; 0 stands
  // for "unknown": only negative ones are.
  explicit TokenStream(std::int64_t vocabulary_size = 0)
      : vocabulary_size_(vocabulary_size) {}

  // Appends a file's tokens; `owner` keeps their memory alive.
  void append_file(const std::string& name, std::shared_ptr<const void> owner,
                   std::span<const TokenArray> runs);
  void append_token(std::int32_t token);
  void append_stream(TokenStream other);

  std::uint64_t size() const { return size_; }
  std::int64_t vocabulary_size() const { return vocabulary_size_; }

  // Tokens first .. first + out.size(), which must exist. Usage error that
  // names file, position, token and vocabulary if one is out of range.
  void read(std::uint64_t first, std::span<std::int64_t> out) const;

 private:
  struct Segment {
    std::uint64_t first = 0;     // in the stream
    std::uint64_t position = 0;  // in its file, in tokens
    std::size_t file = 0;
    TokenArray array;
  };

  void check(const Segment& segment, std::uint64_t offset,
             std::span<const std::int64_t> tokens) const;

  std::int64_t vocabulary_size_;
  std::uint64_t size_ = 0;
  std::vector<Segment> segments_;  // by first; none empty
  std::vector<std::string> files_;
  std::vector<std::shared_ptr<const void>> owners_;
};

struct StreamOptions {
  std::string key = "data.train";      // the setting, for errors
  std::filesystem::path cache_folder;  // empty: no cache (token_cache.h)
  std::int64_t vocabulary_size = 0;    // of the model; 0: unknown
  EncodeOptions encode;
};

// Opens the files of all patterns (input_files.h). Documents of text files,
// and files, have the end-of-text token of the tokenizer between them; token
// files are taken as they are, and one that already ends with that token gets
// no second. `tokenizer` may be null if no file is text.
//
// Streams up to kScannedTokens are checked against the vocabulary at once,
// longer ones as they are read.
TokenStream open_token_stream(std::span<const std::string> patterns,
                              const Tokenizer* tokenizer,
                              const StreamOptions& options);

inline constexpr std::uint64_t kScannedTokens = 1 << 27;

}  // namespace merak::data
