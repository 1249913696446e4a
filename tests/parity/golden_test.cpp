// Merak against a plain PyTorch loop (scripts/make_goldens.py): every step's
// loss, gradient norm and learning rate, in every layout.
#include <ATen/ops/empty_like.h>
#include <gtest/gtest.h>

#include <cmath>

#include "merak/base/file.h"
#include "merak/checkpoint/safetensors/safetensors_file.h"
#include "merak/config/parse.h"
#include "merak/run/datasets.h"
#include "merak/run/in_process.h"
#include "merak/runtime/gradient_reducer.h"
#include "testing/training.h"

namespace merak::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = MERAK_GOLDEN;

struct Layout {
  int data, pipeline;
};

struct Case {
  std::string golden, precision, schedule;
  Layout layout;
  int micro_batch;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* golden : {"gpt2_5x101", "gpt2_7x211"}) {
    for (const char* precision : {"fp64", "fp32"}) {
      for (const char* schedule : {"gpipe", "1f1b"}) {
        for (const Layout layout :
             {Layout{1, 1}, {2, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 2}}) {
          for (const int micro_batch : {1, 2, 3}) {
            list.push_back({golden, precision, schedule, layout, micro_batch});
          }
        }
      }
    }
  }
  return list;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name =
      fmt::format("{}_{}_{}_data{}_pipeline{}_micro{}", c.golden, c.precision,
                  c.schedule, c.layout.data, c.layout.pipeline, c.micro_batch);
  return name;
}

config::Config config_of(const Case& c) {
  const fs::path folder = kGolden / c.golden;
  config::Config config =
      config::load_config(
          folder / "run.toml",
          std::vector<std::string>{"model.path=" + folder.string()})
          .config;
  config.data.train = {(folder / "tokens.u16").string()};
  config.train.precision = c.precision;
  config.train.micro_batch_size = c.micro_batch;
  config.parallel.schedule = c.schedule;
  return config;
}

class Golden : public ::testing::TestWithParam<Case> {};

TEST_P(Golden, EqualsPyTorch) {
  const Case& c = GetParam();
  const auto expected = nlohmann::json::parse(read_file(
      kGolden / c.golden / fmt::format("losses_{}.json", c.precision)));
  const double tolerance = c.precision == "fp64" ? 1e-9 : 1e-4;
  const int steps = static_cast<int>(expected.at("loss").size());
  const Trained found =
      train(config_of(c), {c.layout.data, 1, c.layout.pipeline}, steps);
  const auto near = [&](const char* key, std::size_t step, double value) {
    const double wanted = expected.at(key).at(step);
    EXPECT_LE(std::abs(value - wanted), tolerance * std::abs(wanted))
        << key << " of step " << step << ": " << value << " for " << wanted;
  };
  ASSERT_EQ(found.steps.size(), std::size_t(steps));
  for (std::size_t step = 0; step < found.steps.size(); ++step) {
    near("loss", step, found.steps[step].loss);
    near("grad_norm", step, found.steps[step].grad_norm);
    near("lr", step, found.steps[step].lr);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Golden, ::testing::ValuesIn(cases()),
                         name_of);

// Every gradient of the first step, and not only their norm.
TEST(GoldenGradients, EqualPyTorchOneByOne) {
  const Case c{"gpt2_5x101", "fp64", "1f1b", {1, 3}, 2};
  config::Config config = config_of(c);
  config.train.gradient_clip_norm = 0;
  const checkpoint::SafetensorsFile file(kGolden / c.golden /
                                         "gradients.safetensors");
  const run::RunData data = run::open_data(config, 101, {});
  run::on_ranks(
      config, {1, 1, 3}, [&] { return runtime::load_model(config); },
      {data.train, nullptr}, {},
      [&](int, runtime::Trainer& trainer) {
        trainer.step();
        for (const auto& parameter : trainer.parameters().parameters()) {
          at::Tensor wanted = at::empty_like(parameter.value);
          const auto* stored = file.find(parameter.name);
          ASSERT_NE(stored, nullptr) << parameter.name;
          const auto bytes = file.bytes(*stored);
          ASSERT_EQ(bytes.size(), wanted.nbytes()) << parameter.name;
          std::memcpy(wanted.data_ptr(), bytes.data(), bytes.size());
          const at::Tensor difference =
              runtime::gradient_of(parameter).sub(wanted).abs();
          EXPECT_LE(difference.max().item<double>(),
                    1e-9 * wanted.abs().max().item<double>() + 1e-14)
              << parameter.name;
        }
      });
}

}  // namespace
}  // namespace merak::testing
