// Trains a model of this file's own with Merak: a residual network that guesses
// the next byte of a text. The module is plain PyTorch for one device; nothing
// in it knows of ranks, stages or micro-batches.
//
//   custom_model mixer.toml [section.key=value ...]
#include <fmt/core.h>
#include <merak/api/trainer.h>
#include <torch/torch.h>

namespace nn = torch::nn;

// Adds to each position a function of itself and of the position before it.
struct BlockImpl : nn::Module {
  explicit BlockImpl(int64_t width)
      : norm(register_module("norm",
                             nn::LayerNorm(nn::LayerNormOptions({width})))),
        up(register_module("up", nn::Linear(2 * width, 4 * width))),
        down(register_module("down", nn::Linear(4 * width, width))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor y = norm(x);
    const torch::Tensor before = torch::constant_pad_nd(y, {0, 0, 1, -1});
    return x + down(torch::gelu(up(torch::cat({y, before}, -1))));
  }

  nn::LayerNorm norm;
  nn::Linear up, down;
};
TORCH_MODULE(Block);

struct MixerImpl : nn::Module {
  MixerImpl(int64_t width, int64_t depth)
      : embed(register_module("embed", nn::Embedding(256, width))),
        blocks(register_module("blocks", nn::Sequential())),
        head(register_module("head", nn::Linear(width, 256))) {
    for (int64_t i = 0; i < depth; ++i) blocks->push_back(Block(width));
  }

  torch::Tensor forward(const torch::Tensor& ids) {
    return head(blocks->forward(embed(ids)));
  }

  nn::Embedding embed;
  nn::Sequential blocks;
  nn::Linear head;
};
TORCH_MODULE(Mixer);

torch::Tensor loss_of(Mixer::ContainedType& mixer, const merak::Inputs& in) {
  const torch::Tensor logits = mixer.forward(in["input_ids"]);  // [B, T, 256]
  return torch::cross_entropy_loss(logits.flatten(0, 1),
                                   in["labels"].flatten());
}

int main(int argc, char** argv) {
  return merak::run_program([&] {
    const std::vector<std::string> overrides(argv + std::min(argc, 2),
                                             argv + argc);
    const merak::Config config =
        merak::load_config(argc > 1 ? argv[1] : "mixer.toml", overrides);
    const int64_t width = config.model.config.value("width", 32);
    const int64_t depth = config.model.config.value("depth", 4);

    merak::Trainer trainer(
        config, [=] { return Mixer(width, depth); }, loss_of);
    const merak::RunResult result = trainer.train();
    if (trainer.is_first() && result.loss) {
      fmt::print("{} steps, loss {:.4f}\n", result.steps, *result.loss);
    }
    return result;
  });
}
