// Language modelling over a token stream: samples of sequence_length + 1
// tokens that overlap by one (docs/data_order.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "merak/data/dataset.h"
#include "merak/data/tokens/token_stream.h"

namespace merak::data {

// What happens to the tokens behind the last whole sample.
enum class Tail {
  kDrop,  // training: floor((tokens - 1) / sequence_length) samples
  kPad,   // validation: one more, shorter sample, so every token counts
};

class TokenDataset : public Dataset {
 public:
  // Usage error that names `key` and the numbers if the stream is too short
  // for one sample: sequence_length + 1 tokens, or 2 with a padded tail.
  TokenDataset(TokenStream stream, std::int64_t sequence_length, Tail tail,
               const std::string& key);

  std::uint64_t num_samples() const override { return num_samples_; }

  // Sample i is tokens i * sequence_length ... of the stream; the last may be
  // shorter, and has 2 tokens at least.
  std::vector<std::int64_t> sample(std::uint64_t id) const;

  // "input_ids" and "labels", i64 [ids, sequence_length]. Behind the end of a
  // short sample labels are kIgnoredLabel and inputs 0.
  Batch make_batch(std::span<const std::uint64_t> ids) const override;

  const TokenStream& stream() const { return stream_; }
  std::int64_t sequence_length() const { return sequence_length_; }

 private:
  TokenStream stream_;
  std::int64_t sequence_length_;
  std::uint64_t num_samples_ = 0;
};

}  // namespace merak::data
