// How well a model that only knows how often each token occurs would do: the
// first thing that training must beat.
#pragma once

#include <cstdint>

#include "merak/data/tokens/token_stream.h"

namespace merak::data {

// The mean negative log likelihood, in nats a token, of the validation tokens
// under add-one (Laplace) smoothed frequencies of the training tokens:
//
//   H = -1/M sum_j ln((count(v_j) + 1) / (N + V))
//
// with N training tokens, M validation tokens v_j and a vocabulary of V.
// Usage error if there is no validation token, or one is not below V.
double unigram_entropy(const TokenStream& train, const TokenStream& validation,
                       std::int64_t vocabulary_size);

}  // namespace merak::data
