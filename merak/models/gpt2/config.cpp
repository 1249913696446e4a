#include "merak/models/gpt2/config.h"

#include "merak/base/error.h"
#include "merak/models/activations.h"
#include "merak/models/config_reader.h"

namespace merak::models::gpt2 {

Config parse(const nlohmann::ordered_json& config, const std::string& origin) {
  const ConfigReader read(config, origin);
  Config c;
  c.vocab_size = read.positive("vocab_size", c.vocab_size);
  c.n_positions = read.positive("n_positions", c.n_positions);
  c.n_embd = read.positive("n_embd", c.n_embd);
  c.n_layer = read.positive("n_layer", c.n_layer);
  c.n_head = read.positive("n_head", c.n_head);
  c.n_inner = read.positive("n_inner", 4 * c.n_embd);
  c.activation_function =
      read.text("activation_function", c.activation_function);
  c.resid_pdrop = read.probability("resid_pdrop", c.resid_pdrop);
  c.embd_pdrop = read.probability("embd_pdrop", c.embd_pdrop);
  c.attn_pdrop = read.probability("attn_pdrop", c.attn_pdrop);
  c.layer_norm_epsilon =
      read.positive_number("layer_norm_epsilon", c.layer_norm_epsilon);
  c.initializer_range =
      read.positive_number("initializer_range", c.initializer_range);
  c.scale_attn_weights = read.flag("scale_attn_weights", c.scale_attn_weights);
  c.scale_attn_by_inverse_layer_idx = read.flag(
      "scale_attn_by_inverse_layer_idx", c.scale_attn_by_inverse_layer_idx);
  c.tie_word_embeddings =
      read.flag("tie_word_embeddings", c.tie_word_embeddings);

  if (c.n_embd % c.n_head != 0) {
    read.reject("n_embd",
                fmt::format("it must be a multiple of n_head ({})", c.n_head));
  }
  if (!is_activation(c.activation_function)) {
    read.reject("activation_function", "known are " + known_activations());
  }
  for (const char* key : {"reorder_and_upcast_attn", "add_cross_attention"}) {
    if (read.flag(key, false)) read.reject(key, "only false is supported");
  }
  return c;
}

}  // namespace merak::models::gpt2
