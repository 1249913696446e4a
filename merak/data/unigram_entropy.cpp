#include "merak/data/unigram_entropy.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "merak/base/error.h"

namespace merak::data {
namespace {

std::vector<std::uint64_t> count_tokens(const TokenStream& stream,
                                        std::int64_t vocabulary_size) {
  constexpr std::size_t kBlock = 1 << 14;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(vocabulary_size));
  std::vector<std::int64_t> block(kBlock);
  for (std::uint64_t at = 0; at < stream.size(); at += kBlock) {
    const auto tokens = std::span(block).first(
        std::min<std::uint64_t>(kBlock, stream.size() - at));
    stream.read(at, tokens);
    for (const std::int64_t token : tokens) {
      if (token >= vocabulary_size) {
        fail_usage("token {} is outside the vocabulary of {}", token,
                   vocabulary_size);
      }
      ++counts[static_cast<std::size_t>(token)];
    }
  }
  return counts;
}

}  // namespace

double unigram_entropy(const TokenStream& train, const TokenStream& validation,
                       std::int64_t vocabulary_size) {
  if (validation.size() == 0) fail_usage("data.validation holds no tokens");
  const auto seen = count_tokens(train, vocabulary_size);
  const auto wanted = count_tokens(validation, vocabulary_size);
  const double total =
      static_cast<double>(train.size()) + static_cast<double>(vocabulary_size);
  double sum = 0;
  for (std::size_t token = 0; token < wanted.size(); ++token) {
    if (wanted[token] == 0) continue;
    const double probability = (static_cast<double>(seen[token]) + 1) / total;
    sum -= static_cast<double>(wanted[token]) * std::log(probability);
  }
  return sum / static_cast<double>(validation.size());
}

}  // namespace merak::data
