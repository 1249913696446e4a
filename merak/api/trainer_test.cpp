// A program's own module through Trainer, against a plain PyTorch C++ loop on
// the same module.
#include "merak/api/trainer.h"

#include <c10/core/DefaultDtype.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/adamw.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "merak/base/error.h"
#include "merak/trace/deferred.h"
#include "testing/training.h"

namespace merak {
namespace {

namespace nn = torch::nn;
using ::testing::HasSubstr;

constexpr std::int64_t kSamples = 40, kFeatures = 6, kTargets = 3;
constexpr std::int64_t kBatch = 8, kSteps = 6;
constexpr double kRate = 1e-2;

// Points of a curve: "x" f32 [ids, kFeatures], "y" f32 [ids, kTargets].
class Curve : public data::Dataset {
 public:
  std::uint64_t num_samples() const override { return kSamples; }

  data::Batch make_batch(std::span<const std::uint64_t> ids) const override {
    return {{tensor("x", kFeatures, ids), tensor("y", kTargets, ids)}};
  }

 private:
  static data::BatchTensor tensor(const std::string& name, std::int64_t width,
                                  std::span<const std::uint64_t> ids) {
    data::BatchTensor result{
        name, DType::kF32, {static_cast<std::int64_t>(ids.size()), width}, {}};
    for (const std::uint64_t id : ids) {
      for (std::int64_t i = 0; i < width; ++i) {
        const double t =
            static_cast<double>(id * 7 + name[0]) + 0.3 * double(i);
        const auto value = static_cast<float>(std::sin(t));
        std::byte bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        result.bytes.insert(result.bytes.end(), bytes, bytes + sizeof value);
      }
    }
    return result;
  }
};

// Four layers, one of them with a buffer.
struct NetImpl : nn::Module {
  NetImpl()
      : layers(register_module(
            "layers", nn::Sequential(nn::Linear(kFeatures, 16), nn::GELU(),
                                     nn::LayerNorm(nn::LayerNormOptions({16})),
                                     nn::Linear(16, 16), nn::Tanh(),
                                     nn::Linear(16, kTargets)))),
        scale(register_buffer("scale", torch::full({kTargets}, 1.5))) {}

  at::Tensor forward(const at::Tensor& x) { return layers->forward(x) * scale; }

  nn::Sequential layers;
  at::Tensor scale;
};
TORCH_MODULE(Net);

at::Tensor squared_error(NetImpl& net, const Inputs& in) {
  return nn::functional::mse_loss(net.forward(in["x"]), in["y"]);
}

// A module that gives its loss itself.
struct LossNetImpl : NetImpl {
  at::Tensor forward(const Inputs& in) {
    return nn::functional::mse_loss(NetImpl::forward(in["x"]), in["y"]);
  }
};

Config config_in(const std::filesystem::path& folder) {
  Config config;
  config.data.shuffle = false;
  config.train.steps = kSteps;
  config.train.global_batch_size = kBatch;
  config.train.micro_batch_size = 2;
  config.train.precision = "fp64";
  config.train.gradient_clip_norm = 0;
  config.optimizer.lr = kRate;
  config.optimizer.weight_decay = 0;
  config.lr_schedule = {"constant", 0, 0};
  config.run.dir = folder.string();
  config.run.tensorboard = false;
  return config;
}

std::vector<double> losses_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "metrics.jsonl");
  std::vector<double> losses;
  std::string line;
  while (std::getline(file, line)) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("loss")) losses.push_back(record["loss"]);
  }
  return losses;
}

// The loop that a user without Merak writes.
std::vector<double> plain_losses(const Config& config) {
  const auto before = c10::get_default_dtype();
  c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  const trace::Deferred deferred;
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  Net net = const_cast<trace::Deferred&>(deferred).build([] { return Net(); });
  for (auto& item : net->named_parameters()) {
    item.value().set_data(deferred.materialize(item.value(), item.key(), seed));
  }
  net->scale = torch::full({kTargets}, 1.5);
  torch::optim::AdamW optimizer(
      net->parameters(),
      torch::optim::AdamWOptions(kRate).betas({0.9, 0.95}).weight_decay(0));
  const Curve curve;
  std::vector<double> losses;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    std::vector<std::uint64_t> ids;
    for (std::int64_t i = 0; i < kBatch; ++i) {
      ids.push_back(static_cast<std::uint64_t>((step * kBatch + i) % kSamples));
    }
    data::Batch batch = curve.make_batch(ids);
    const auto tensor = [&](std::size_t i) {
      return torch::from_blob(batch.tensors[i].bytes.data(),
                              batch.tensors[i].shape, torch::kFloat)
          .to(torch::kDouble);
    };
    const at::Tensor loss =
        squared_error(*net, Inputs({{"x", tensor(0)}, {"y", tensor(1)}}));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  c10::set_default_dtype(before);
  return losses;
}

class OwnModule : public ::testing::Test {
 protected:
  std::filesystem::path folder(const std::string& name) const {
    return folder_.path() / name;
  }

  // Of a run in this process.
  std::vector<double> losses(const std::string& name, std::int64_t data,
                             std::int64_t pipeline) {
    Config config = config_in(folder(name));
    config.parallel.data = data;
    config.parallel.pipeline = pipeline;
    Trainer trainer(config, [] { return Net(); }, squared_error);
    trainer.set_data(std::make_shared<Curve>());
    result_ = trainer.train(static_cast<int>(data * pipeline));
    return losses_in(folder(name));
  }

  std::string error(const Config& config,
                    const std::function<std::shared_ptr<NetImpl>()>& make,
                    bool with_data = true) {
    try {
      Trainer trainer(config, make, squared_error);
      if (with_data) trainer.set_data(std::make_shared<Curve>());
      trainer.train(1);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
      return error.what();
    }
    return "";
  }

  testing::TemporaryFolder folder_;
  RunResult result_;
};

TEST_F(OwnModule, OneRankTrainsAsAPlainLoop) {
  const std::vector<double> plain = plain_losses(config_in(folder("plain")));
  const std::vector<double> found = losses("one", 1, 1);
  ASSERT_EQ(found.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(found[i], plain[i], 1e-9) << "step " << i;
  }
  EXPECT_LT(found.back(), 0.8 * found.front());
  EXPECT_EQ(result_.steps, kSteps);
  EXPECT_EQ(result_.loss, found.back());
}

TEST_F(OwnModule, PipelinesHaveTheBitsOfOneRank) {
  const std::vector<double> one = losses("one", 1, 1);
  ASSERT_EQ(one.size(), kSteps);
  EXPECT_EQ(losses("two", 1, 2), one);
  EXPECT_EQ(losses("three", 1, 3), one);
}

TEST_F(OwnModule, OtherLayoutsDifferByTheOrderOfSums) {
  const std::vector<double> one = losses("one", 1, 1);
  for (const auto& [data, pipeline] : {std::pair{1, 3}, {2, 1}, {2, 2}}) {
    const std::string name = fmt::format("{}x{}", data, pipeline);
    SCOPED_TRACE(name);
    const std::vector<double> many = losses(name, data, pipeline);
    ASSERT_EQ(many.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(many[i], one[i], 1e-12) << "step " << i;
    }
  }
}

TEST_F(OwnModule, MayGiveItsLossItself) {
  const std::vector<double> one = losses("one", 1, 1);
  Trainer trainer(config_in(folder("own")),
                  [] { return std::make_shared<LossNetImpl>(); });
  trainer.set_data(std::make_shared<Curve>());
  trainer.train(1);
  EXPECT_EQ(losses_in(folder("own")), one);
}

// Threads save and resume as processes do, in another layout too.
TEST_F(OwnModule, GoesOnFromACheckpointInAnotherLayout) {
  const std::vector<double> whole = losses("whole", 1, 1);
  for (const std::int64_t steps : {kSteps / 2, kSteps}) {
    Config config = config_in(folder("parts"));
    config.train.steps = steps;
    config.checkpoint.every = 1;
    config.parallel.pipeline = steps == kSteps ? 1 : 2;
    Trainer trainer(config, [] { return Net(); }, squared_error);
    trainer.set_data(std::make_shared<Curve>());
    trainer.train(steps == kSteps ? 1 : 2);
  }
  EXPECT_EQ(losses_in(folder("parts")), whole);
}

TEST_F(OwnModule, ValidatesOnDataOfItsOwn) {
  Config config = config_in(folder("run"));
  config.train.eval_every = 2;
  Trainer trainer(config, [] { return Net(); }, squared_error);
  trainer.set_data(std::make_shared<Curve>(), std::make_shared<Curve>());
  const RunResult result = trainer.train(1);
  ASSERT_TRUE(result.validation_loss.has_value());
  EXPECT_NEAR(*result.validation_loss, *result.loss, 0.5);
}

TEST_F(OwnModule, LeavesTheDefaultTypeAsItWas) {
  losses("one", 1, 1);
  EXPECT_EQ(c10::get_default_dtype(), caffe2::TypeMeta::Make<float>());
}

TEST_F(OwnModule, MistakesAreTold) {
  const Config config = config_in(folder("run"));
  const auto make = [] { return std::make_shared<NetImpl>(); };
  EXPECT_THAT(error(config, make, false), HasSubstr("data.train is missing"));
  const auto before = std::make_shared<NetImpl>();
  EXPECT_THAT(error(config, [before] { return before; }),
              HasSubstr("layers.0.weight was made before the factory"));
  EXPECT_THAT(error(config, [] { return std::shared_ptr<NetImpl>(); }),
              HasSubstr("gave no module"));
  Config evaluates = config;
  evaluates.train.eval_every = 2;
  EXPECT_THAT(error(evaluates, make), HasSubstr("there is no validation set"));
  Config with_path = config;
  with_path.model.path = "gpt2";
  EXPECT_THAT(error(with_path, make), HasSubstr("a model of its own"));
  Trainer trainer(config, make, [](NetImpl& net, const Inputs& in) {
    return net.forward(in["pixels"]).sum();
  });
  trainer.set_data(std::make_shared<Curve>());
  try {
    trainer.train(1);
    ADD_FAILURE() << "an unknown input was taken";
  } catch (const Error& unknown) {
    EXPECT_STREQ(unknown.what(),
                 "the model asks for an input 'pixels'; the data give x, y");
  }
}

}  // namespace
}  // namespace merak
