// A byte-level BPE tokenizer: added tokens, pre-tokenizer and model put
// together. tokenizer_json.h and gpt2_files.h read the parts from files.
#pragma once

#include <memory>
#include <mutex>

#include "merak/data/tokenizer/added_tokens.h"
#include "merak/data/tokenizer/bpe_model.h"
#include "merak/data/tokenizer/pre_tokenizer.h"
#include "merak/data/tokenizer/tokenizer.h"

namespace merak::data {

struct BpeParts {
  BpeTables tables;
  std::vector<SplitStage> stages;
  std::vector<AddedToken> added_tokens;
  std::vector<std::int32_t> prompt_prefix;
  std::optional<std::string> end_of_text;  // a token by content, if known
  std::uint64_t fingerprint = 0;           // of the files
};

class BpeTokenizer : public Tokenizer {
 public:
  // Usage errors name parts.tables.source. Without parts.end_of_text the first
  // of the well-known spellings that is a token is taken (kEndOfTextNames).
  explicit BpeTokenizer(BpeParts parts);
  ~BpeTokenizer() override;

  // Invalid UTF-8 is read as U+FFFD first, as Python would hand it to
  // Hugging Face.
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> tokens) const override;
  std::int32_t vocabulary_size() const override;
  std::optional<std::int32_t> end_of_text() const override {
    return end_of_text_;
  }
  std::span<const std::int32_t> prompt_prefix() const override {
    return prompt_prefix_;
  }
  std::string_view name() const override { return name_; }
  std::uint64_t fingerprint() const override { return fingerprint_; }

 private:
  struct Scratch;

  // Each call in flight holds one scratch; they are kept for the next calls.
  std::unique_ptr<Scratch> take_scratch() const;
  void give_back(std::unique_ptr<Scratch> scratch) const;

  void set_added_bytes(const std::vector<AddedToken>& added);
  void set_end_of_text(const BpeParts& parts);
  std::optional<std::int32_t> find_token(const BpeParts& parts,
                                         const std::string& content) const;

  std::string name_;
  BpeModel model_;
  PreTokenizer pre_tokenizer_;
  AddedTokens added_tokens_;
  std::vector<std::string> token_bytes_;  // with the added tokens
  std::vector<std::int32_t> prompt_prefix_;
  std::optional<std::int32_t> end_of_text_;
  std::uint64_t fingerprint_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace merak::data
