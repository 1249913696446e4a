// GPT-2's config.json (Radford et al. 2019; keys and defaults are those of
// Hugging Face's GPT2Config).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace merak::models::gpt2 {

struct Config {
  std::int64_t vocab_size = 50257;
  std::int64_t n_positions = 1024;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t n_inner = 3072;  // 4 * n_embd where the file has null
  std::string activation_function = "gelu_new";
  double resid_pdrop = 0.1;
  double embd_pdrop = 0.1;
  double attn_pdrop = 0.1;
  double layer_norm_epsilon = 1e-5;
  double initializer_range = 0.02;
  bool scale_attn_weights = true;
  bool scale_attn_by_inverse_layer_idx = false;
  bool tie_word_embeddings = true;
};

Config parse(const nlohmann::ordered_json& config, const std::string& origin);

}  // namespace merak::models::gpt2
