// Sampling from a language model, on one device.
//
// The model runs eagerly on the whole text so far; there is no key-value cache,
// so a token costs a forward. Draws depend on the seed and the position alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "merak/models/spec.h"

namespace merak::runtime {

struct SamplingOptions {
  std::int64_t max_new_tokens = 64;
  double temperature = 1.0;  // 0: always the likeliest token
  std::int64_t top_k = 0;    // 0: off
  double top_p = 1.0;        // 1: off
  std::uint64_t seed = 1234;
};

// Usage error if an option is out of its range.
void check(const SamplingOptions& options);

// The tokens that follow `prompt`, until `end_of_text` (-1: none) or the limit.
// Of a text longer than the model's context only the last part counts.
// `on_token` sees each one as it comes. Usage error for an empty prompt and for
// tokens beyond the vocabulary.
std::vector<std::int32_t> generate(
    models::Model& model, const models::ModelSpec& spec,
    const std::vector<std::int32_t>& prompt, const SamplingOptions& options,
    std::int32_t end_of_text,
    const std::function<void(std::int32_t)>& on_token = {});

// One draw from logits [V] in f64 on the CPU. `uniform` in [0, 1).
std::int32_t sample(const at::Tensor& logits, const SamplingOptions& options,
                    double uniform);

}  // namespace merak::runtime
