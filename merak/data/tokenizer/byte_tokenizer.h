// The 256 byte values as tokens: no file, no loss, any data. It has no
// end-of-text token, so documents are joined with nothing between them.
#pragma once

#include "merak/data/tokenizer/tokenizer.h"

namespace merak::data {

class ByteTokenizer : public Tokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> tokens) const override;
  std::int32_t vocabulary_size() const override { return 256; }
  std::optional<std::int32_t> end_of_text() const override {
    return std::nullopt;
  }
  std::string_view name() const override { return "bytes"; }
  std::uint64_t fingerprint() const override { return 256; }
};

}  // namespace merak::data
