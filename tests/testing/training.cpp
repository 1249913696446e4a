#include "testing/training.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <random>

#include "merak/base/error.h"
#include "merak/run/datasets.h"
#include "merak/run/in_process.h"

namespace merak::testing {

TemporaryFolder::TemporaryFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "merak-test-XXXXXX").string();
  MERAK_CHECK(mkdtemp(name.data()) != nullptr, "no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_tokens(const std::filesystem::path& file, int count,
                  int vocabulary) {
  std::mt19937 generator(7);
  std::ofstream out(file, std::ios::binary);
  for (int i = 0; i < count; ++i) {
    const auto token = static_cast<std::uint16_t>(
        generator() % static_cast<unsigned>(vocabulary));
    out.put(static_cast<char>(token & 0xFF));
    out.put(static_cast<char>(token >> 8));
  }
}

nlohmann::json small_gpt2() {
  return {{"model_type", "gpt2"}, {"n_layer", 5},      {"n_embd", 24},
          {"n_head", 3},          {"vocab_size", 101}, {"n_positions", 16},
          {"resid_pdrop", 0.0},   {"embd_pdrop", 0.0}, {"attn_pdrop", 0.0}};
}

config::Config small_config(const std::filesystem::path& tokens) {
  config::Config config;
  config.model.config = small_gpt2();
  config.data.train = {tokens.string()};
  config.data.sequence_length = 11;
  config.data.shuffle = false;
  config.train.steps = 4;
  config.train.global_batch_size = 12;
  config.train.micro_batch_size = 2;
  config.train.gradient_clip_norm = 0.5;
  config.optimizer.lr = 1e-2;
  config.lr_schedule.warmup_steps = 2;
  config.lr_schedule.min_lr = 1e-3;
  return config;
}

std::vector<double> Trained::losses() const {
  std::vector<double> values;
  for (const runtime::StepReport& step : steps) values.push_back(step.loss);
  return values;
}

std::vector<double> Trained::grad_norms() const {
  std::vector<double> values;
  for (const runtime::StepReport& step : steps) {
    values.push_back(step.grad_norm);
  }
  return values;
}

Trained train(const config::Config& config, const config::Layout& layout,
              int steps, const runtime::Datasets& datasets) {
  Trained trained;
  std::mutex mutex;
  run::on_ranks(
      config, layout, [&] { return runtime::load_model(config); }, datasets, {},
      [&](int, runtime::Trainer& trainer) {
        std::vector<runtime::StepReport> own;
        for (int step = 0; step < steps; ++step) own.push_back(trainer.step());
        const std::lock_guard lock(mutex);
        if (trained.steps.empty()) trained.steps = own;
        for (std::size_t i = 0; i < own.size(); ++i) {
          EXPECT_EQ(own[i].loss, trained.steps[i].loss);
          EXPECT_EQ(own[i].grad_norm, trained.steps[i].grad_norm);
        }
        for (const auto& parameter : trainer.parameters().parameters()) {
          const at::Tensor value = parameter.value.clone();
          trained.parameters[parameter.name] = value;
          trained.copies[parameter.name].push_back(value);
        }
      });
  return trained;
}

Trained train(const config::Config& config, const config::Layout& layout,
              int steps) {
  const run::RunData data = run::open_data(config, 0, {});
  return train(config, layout, steps, {data.train, data.validation});
}

}  // namespace merak::testing
