// Writes Megatron-LM's PREFIX.bin and PREFIX.idx, a sequence a document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "merak/data/tokens/atomic_file.h"
#include "merak/data/tokens/token_array.h"

namespace merak::data {

class MegatronWriter {
 public:
  // Tokens are u16 for vocabularies below 65500, else i32, as Megatron-LM
  // chooses. Both files appear together in finish(); an older .idx is removed
  // first, so no moment pairs it with the new .bin.
  MegatronWriter(const std::filesystem::path& prefix,
                 std::int64_t vocabulary_size);

  // Adds tokens to the open document. Usage error above 2^31 - 1 a document.
  void append(std::span<const std::int32_t> tokens);
  void end_document();

  void finish();

  std::uint64_t documents() const { return sizes_.size(); }
  std::uint64_t tokens() const { return tokens_; }
  TokenType type() const { return type_; }

 private:
  std::filesystem::path index_path_;
  std::filesystem::path data_path_;
  TokenType type_;
  AtomicFile data_;
  std::vector<std::int32_t> sizes_;
  std::uint64_t open_tokens_ = 0;
  std::uint64_t tokens_ = 0;
};

}  // namespace merak::data
