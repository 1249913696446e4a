// Shapes: B batch, T time, C embedding, H heads, D = C / H, V vocabulary.
#include "merak/models/gpt2/gpt2.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "merak/base/error.h"
#include "merak/models/activations.h"
#include "merak/trace/scope.h"

namespace merak::models::gpt2 {
namespace {

using at::Tensor;
using trace::Scope;

Tensor random_weight(std::vector<std::int64_t> shape, double deviation,
                     at::ScalarType type) {
  return at::empty(shape, at::TensorOptions().dtype(type))
      .normal_(0.0, deviation);
}

class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(const Config& c, at::ScalarType type)
      : width_(c.n_embd), epsilon_(c.layer_norm_epsilon) {
    const auto options = at::TensorOptions().dtype(type);
    weight_ = register_parameter("weight", at::ones({width_}, options));
    bias_ = register_parameter("bias", at::zeros({width_}, options));
  }
  Tensor forward(const Tensor& x_BTC) {
    return at::layer_norm(x_BTC, {width_}, weight_, bias_, epsilon_);
  }

 private:
  std::int64_t width_;
  double epsilon_;
  Tensor weight_, bias_;
};

// A linear layer with its weight as [in, out], as GPT-2's files have it.
class Conv1D : public torch::nn::Module {
 public:
  Conv1D(std::int64_t in, std::int64_t out, double deviation,
         at::ScalarType type) {
    weight_ =
        register_parameter("weight", random_weight({in, out}, deviation, type));
    bias_ = register_parameter(
        "bias", at::zeros({out}, at::TensorOptions().dtype(type)));
  }
  Tensor forward(const Tensor& x_BTC) {
    std::vector<std::int64_t> shape = x_BTC.sizes().vec();
    const std::int64_t in = shape.back();
    shape.back() = weight_.size(1);
    return at::addmm(bias_, x_BTC.reshape({-1, in}), weight_).view(shape);
  }

 private:
  Tensor weight_, bias_;
};

class Embedding : public torch::nn::Module {
 public:
  Embedding(std::int64_t rows, const Config& c, at::ScalarType type) {
    weight_ = register_parameter(
        "weight", random_weight({rows, c.n_embd}, c.initializer_range, type));
  }
  Tensor forward(const Tensor& ids) { return at::embedding(weight_, ids); }
  const Tensor& weight() const { return weight_; }

 private:
  Tensor weight_;
};

// GPT-2 scales the projections into the residual stream by 1/sqrt(2 layers).
double residual_deviation(const Config& c) {
  return c.initializer_range / std::sqrt(2.0 * static_cast<double>(c.n_layer));
}

class Attention : public torch::nn::Module {
 public:
  Attention(const Config& c, std::int64_t layer, at::ScalarType type)
      : heads_(c.n_head), dropout_(c.attn_pdrop), residual_(c.resid_pdrop) {
    scale_ = c.scale_attn_weights
                 ? 1.0 / std::sqrt(static_cast<double>(c.n_embd / c.n_head))
                 : 1.0;
    if (c.scale_attn_by_inverse_layer_idx) {
      scale_ /= static_cast<double>(layer + 1);
    }
    c_attn_ = register_module(
        "c_attn", std::make_shared<Conv1D>(c.n_embd, 3 * c.n_embd,
                                           c.initializer_range, type));
    c_proj_ = register_module(
        "c_proj", std::make_shared<Conv1D>(c.n_embd, c.n_embd,
                                           residual_deviation(c), type));
  }

  Tensor forward(const Tensor& x_BTC) {
    const std::int64_t width = x_BTC.size(2);
    Tensor qkv;
    {
      const Scope scope("c_attn");
      qkv = c_attn_->forward(x_BTC);
    }
    const std::vector<Tensor> parts = qkv.split(width, 2);
    const Tensor y_BHTD = at::scaled_dot_product_attention(
        heads(parts[0]), heads(parts[1]), heads(parts[2]), {},
        is_training() ? dropout_ : 0.0, /*is_causal=*/true, scale_);
    const Tensor y_BTC = y_BHTD.transpose(1, 2).reshape(x_BTC.sizes());
    const Scope scope("c_proj");
    return at::dropout(c_proj_->forward(y_BTC), residual_, is_training());
  }

 private:
  Tensor heads(const Tensor& x_BTC) const {
    return x_BTC.view({x_BTC.size(0), x_BTC.size(1), heads_, -1})
        .transpose(1, 2);
  }

  std::int64_t heads_;
  double dropout_, residual_, scale_;
  std::shared_ptr<Conv1D> c_attn_, c_proj_;
};

class Mlp : public torch::nn::Module {
 public:
  Mlp(const Config& c, at::ScalarType type)
      : activation_(c.activation_function), residual_(c.resid_pdrop) {
    c_fc_ = register_module(
        "c_fc", std::make_shared<Conv1D>(c.n_embd, c.n_inner,
                                         c.initializer_range, type));
    c_proj_ = register_module(
        "c_proj", std::make_shared<Conv1D>(c.n_inner, c.n_embd,
                                           residual_deviation(c), type));
  }

  Tensor forward(const Tensor& x_BTC) {
    Tensor y;
    {
      const Scope scope("c_fc");
      y = activate(activation_, c_fc_->forward(x_BTC));
    }
    const Scope scope("c_proj");
    return at::dropout(c_proj_->forward(y), residual_, is_training());
  }

 private:
  std::string activation_;
  double residual_;
  std::shared_ptr<Conv1D> c_fc_, c_proj_;
};

class Block : public torch::nn::Module {
 public:
  Block(const Config& c, std::int64_t layer, at::ScalarType type) {
    ln_1_ = register_module("ln_1", std::make_shared<LayerNorm>(c, type));
    attn_ =
        register_module("attn", std::make_shared<Attention>(c, layer, type));
    ln_2_ = register_module("ln_2", std::make_shared<LayerNorm>(c, type));
    mlp_ = register_module("mlp", std::make_shared<Mlp>(c, type));
  }

  Tensor forward(const Tensor& x_BTC) {
    const Tensor y = x_BTC + call("attn", *attn_, call("ln_1", *ln_1_, x_BTC));
    return y + call("mlp", *mlp_, call("ln_2", *ln_2_, y));
  }

 private:
  template <typename Module>
  static Tensor call(const char* name, Module& module, const Tensor& x) {
    const Scope scope(name);
    return module.forward(x);
  }

  std::shared_ptr<LayerNorm> ln_1_, ln_2_;
  std::shared_ptr<Attention> attn_;
  std::shared_ptr<Mlp> mlp_;
};

class Transformer : public torch::nn::Module {
 public:
  Transformer(const Config& c, at::ScalarType type) : dropout_(c.embd_pdrop) {
    wte_ = register_module("wte",
                           std::make_shared<Embedding>(c.vocab_size, c, type));
    wpe_ = register_module("wpe",
                           std::make_shared<Embedding>(c.n_positions, c, type));
    const auto list = register_module("h", std::make_shared<Blocks>());
    for (std::int64_t layer = 0; layer < c.n_layer; ++layer) {
      blocks_.push_back(list->register_module(
          std::to_string(layer), std::make_shared<Block>(c, layer, type)));
    }
    ln_f_ = register_module("ln_f", std::make_shared<LayerNorm>(c, type));
  }

  Tensor forward(const Tensor& ids_BT) {
    Tensor x_BTC = embed(ids_BT);
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
      const Scope list("h");
      const Scope scope(std::to_string(layer));
      x_BTC = blocks_[layer]->forward(x_BTC);
    }
    const Scope scope("ln_f");
    return ln_f_->forward(x_BTC);
  }

  const Tensor& token_embedding() const { return wte_->weight(); }

 private:
  // The list "h" of HF's names.
  class Blocks : public torch::nn::Module {};

  Tensor embed(const Tensor& ids_BT) {
    Tensor tokens, positions;
    {
      const Scope scope("wte");
      tokens = wte_->forward(ids_BT);
    }
    {
      const Scope scope("wpe");
      positions = wpe_->forward(
          at::arange(ids_BT.size(1), ids_BT.options().dtype(at::kLong)));
    }
    return at::dropout(tokens + positions, dropout_, is_training());
  }

  double dropout_;
  std::shared_ptr<Embedding> wte_, wpe_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<LayerNorm> ln_f_;
};

class LmHead : public torch::nn::Module {
 public:
  LmHead(const Config& c, at::ScalarType type) {
    weight_ = register_parameter(
        "weight",
        random_weight({c.vocab_size, c.n_embd}, c.initializer_range, type));
  }
  const Tensor& weight() const { return weight_; }

 private:
  Tensor weight_;
};

class Gpt2 : public Model {
 public:
  Gpt2(const Config& c, at::ScalarType type) {
    transformer_ =
        register_module("transformer", std::make_shared<Transformer>(c, type));
    if (!c.tie_word_embeddings) {
      lm_head_ = register_module("lm_head", std::make_shared<LmHead>(c, type));
    }
  }

  trace::NamedTensors forward(const trace::NamedTensors& inputs) override {
    Tensor hidden_BTC;
    {
      const Scope scope("transformer");
      hidden_BTC = transformer_->forward(input_named(inputs, "input_ids"));
    }
    const Scope scope("lm_head");
    const Tensor logits_BTV =
        at::linear(hidden_BTC, lm_head_ ? lm_head_->weight()
                                        : transformer_->token_embedding());
    const Tensor* labels_BT = find_input(inputs, "labels");
    if (labels_BT == nullptr) return {{"logits", logits_BTV}};
    return {{"loss",
             at::cross_entropy_loss(logits_BTV.view({-1, logits_BTV.size(2)}),
                                    labels_BT->view({-1}))}};
  }

 private:
  std::shared_ptr<Transformer> transformer_;
  std::shared_ptr<LmHead> lm_head_;
};

}  // namespace

ModelSpec make_spec(const nlohmann::ordered_json& config,
                    const std::string& origin) {
  const Config c = parse(config, origin);
  ModelSpec spec;
  spec.model_type = "gpt2";
  spec.config = config;
  spec.vocabulary_size = c.vocab_size;
  spec.max_sequence_length = c.n_positions;
  spec.num_layers = c.n_layer;
  spec.build = [c](at::ScalarType type) -> std::shared_ptr<Model> {
    return std::make_shared<Gpt2>(c, type);
  };
  return spec;
}

}  // namespace merak::models::gpt2
