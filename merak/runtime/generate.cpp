#include "merak/runtime/generate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "merak/base/error.h"
#include "merak/models/model.h"

namespace merak::runtime {
namespace {

// SplitMix64 (Steele et al. 2014): one draw a position, no state.
double uniform_at(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed + (position + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

struct Candidate {
  std::int32_t token;
  double weight;
};

// Unnormalised probabilities, the likeliest first.
std::vector<Candidate> ranked(const at::Tensor& logits, double temperature) {
  const auto* values = logits.const_data_ptr<double>();
  const auto count = static_cast<std::size_t>(logits.numel());
  const double highest = *std::max_element(values, values + count);
  std::vector<Candidate> candidates(count);
  for (std::size_t i = 0; i < count; ++i) {
    candidates[i] = {static_cast<std::int32_t>(i),
                     std::exp((values[i] - highest) / temperature)};
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.weight > b.weight;
                   });
  return candidates;
}

double total(const std::vector<Candidate>& candidates) {
  double sum = 0;
  for (const Candidate& candidate : candidates) sum += candidate.weight;
  return sum;
}

// The fewest likeliest tokens that together reach top_p.
void keep_nucleus(std::vector<Candidate>& candidates, double top_p) {
  const double wanted = top_p * total(candidates);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < candidates.size() && sum < wanted) {
    sum += candidates[kept++].weight;
  }
  candidates.resize(std::max<std::size_t>(kept, 1));
}

}  // namespace

void check(const SamplingOptions& options) {
  if (options.max_new_tokens < 1) {
    fail_usage("--max-new-tokens is {}; it must be positive",
               options.max_new_tokens);
  }
  if (!(options.temperature >= 0)) {
    fail_usage("--temperature is {}; it must be 0 or more",
               options.temperature);
  }
  if (options.top_k < 0) {
    fail_usage("--top-k is {}; it must be 0 (off) or more", options.top_k);
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    fail_usage("--top-p is {}; it must lie in (0, 1]", options.top_p);
  }
}

std::int32_t sample(const at::Tensor& logits, const SamplingOptions& options,
                    double uniform) {
  if (options.temperature == 0) {
    return static_cast<std::int32_t>(logits.argmax().item<std::int64_t>());
  }
  std::vector<Candidate> candidates = ranked(logits, options.temperature);
  if (options.top_k > 0 &&
      static_cast<std::size_t>(options.top_k) < candidates.size()) {
    candidates.resize(static_cast<std::size_t>(options.top_k));
  }
  if (options.top_p < 1) keep_nucleus(candidates, options.top_p);
  double rest = uniform * total(candidates);
  for (const Candidate& candidate : candidates) {
    rest -= candidate.weight;
    if (rest < 0) return candidate.token;
  }
  return candidates.back().token;
}

std::vector<std::int32_t> generate(
    models::Model& model, const models::ModelSpec& spec,
    const std::vector<std::int32_t>& prompt, const SamplingOptions& options,
    std::int32_t end_of_text,
    const std::function<void(std::int32_t)>& on_token) {
  check(options);
  if (prompt.empty()) fail_usage("the prompt has no token; give some text");
  for (std::int32_t token : prompt) {
    if (token < 0 || token >= spec.vocabulary_size) {
      fail_usage("the prompt has token {}; the model's vocabulary is {}", token,
                 spec.vocabulary_size);
    }
  }
  const at::NoGradGuard no_grad;
  model.eval();
  std::vector<std::int64_t> text(prompt.begin(), prompt.end());
  std::vector<std::int32_t> made;
  const auto context = static_cast<std::size_t>(spec.max_sequence_length);
  for (std::int64_t i = 0; i < options.max_new_tokens; ++i) {
    std::size_t first = 0;
    if (context > 0 && text.size() > context) first = text.size() - context;
    const at::Tensor ids =
        at::tensor(at::ArrayRef<std::int64_t>(text).slice(first)).unsqueeze(0);
    const at::Tensor logits =
        model.forward({{"input_ids", ids}}).front().second;
    const at::Tensor last =
        logits.select(0, 0).select(0, -1).to(at::kDouble).contiguous();
    const std::int32_t token =
        sample(last, options, uniform_at(options.seed, text.size()));
    if (token == end_of_text) break;
    text.push_back(token);
    made.push_back(token);
    if (on_token) on_token(token);
  }
  return made;
}

}  // namespace merak::runtime
