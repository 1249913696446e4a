// Micro-batches with unequal numbers of valid labels: the loss is the mean over
// the labels of the global batch, however it is cut. A mean of the
// micro-batches' means is another number, which the test shows.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>

#include "merak/run/in_process.h"
#include "merak/runtime/gradient_reducer.h"
#include "testing/training.h"

namespace merak::testing {
namespace {

constexpr std::int64_t kLength = 11;

// Sample i has valid[i] labels; the others are ignored.
class UnevenData : public data::Dataset {
 public:
  explicit UnevenData(std::vector<int> valid) : valid_(std::move(valid)) {}

  std::uint64_t num_samples() const override { return valid_.size(); }
  data::Batch make_batch(std::span<const std::uint64_t> ids) const override {
    std::vector<std::int64_t> inputs, labels;
    for (const std::uint64_t id : ids) {
      for (std::int64_t i = 0; i < kLength; ++i) {
        const auto token = static_cast<std::int64_t>(id * 37 + 11) * (i + 3);
        inputs.push_back(token % 101);
        labels.push_back(i < valid_[id] ? (token + 5) % 101
                                        : data::kIgnoredLabel);
      }
    }
    return {{tensor("input_ids", inputs), tensor("labels", labels)}};
  }

 private:
  static data::BatchTensor tensor(const std::string& name,
                                  const std::vector<std::int64_t>& values) {
    data::BatchTensor made;
    made.name = name;
    made.shape = {static_cast<std::int64_t>(values.size()) / kLength, kLength};
    made.bytes.resize(values.size() * sizeof(std::int64_t));
    std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    return made;
  }

  std::vector<int> valid_;
};

using Gradients = std::map<std::string, at::Tensor>;

struct Result {
  runtime::StepReport step;
  Gradients gradients;
};

Result first_step(const std::vector<int>& valid, const config::Layout& layout,
                  int micro_batch) {
  config::Config config = small_config("none.u16");
  config.train.precision = "fp64";
  config.train.global_batch_size = static_cast<std::int64_t>(valid.size());
  config.train.micro_batch_size = micro_batch;
  config.train.gradient_clip_norm = 0;
  Result result;
  std::mutex mutex;
  run::on_ranks(
      config, layout, [&] { return runtime::load_model(config); },
      {std::make_shared<UnevenData>(valid), nullptr}, {},
      [&](int, runtime::Trainer& trainer) {
        const runtime::StepReport step = trainer.step();
        const std::lock_guard lock(mutex);
        result.step = step;
        for (const auto& parameter : trainer.parameters().parameters()) {
          result.gradients[parameter.name] =
              runtime::gradient_of(parameter).clone();
        }
      });
  return result;
}

double largest_difference(const Gradients& a, const Gradients& b) {
  double largest = 0;
  for (const auto& [name, gradient] : a) {
    largest =
        std::max(largest, gradient.sub(b.at(name)).abs().max().item<double>());
  }
  return largest;
}

const std::vector<int> kValid = {7, 1, 0, 5};

TEST(UnevenTokens, GradientsAreThoseOfTheFullBatch) {
  const Result full = first_step(kValid, {1, 1, 1}, 4);
  EXPECT_EQ(full.step.tokens, 13);
  for (const config::Layout& layout :
       {config::Layout{1, 1, 1}, {1, 1, 2}, {2, 1, 2}, {4, 1, 1}}) {
    SCOPED_TRACE(
        fmt::format("data {} pipeline {}", layout.data, layout.pipeline));
    const Result cut = first_step(kValid, layout, 1);
    EXPECT_EQ(cut.step.tokens, 13);
    EXPECT_NEAR(cut.step.loss, full.step.loss, 1e-12);
    EXPECT_LT(largest_difference(cut.gradients, full.gradients), 1e-12);
  }
}

// What this suite guards against, computed: the bound above tells them apart.
TEST(UnevenTokens, AMeanOfMeansIsAnotherGradient) {
  const Result full = first_step(kValid, {1, 1, 1}, 4);
  Gradients means;
  for (const int valid : {7, 1, 5}) {
    const auto at = static_cast<std::size_t>(
        std::find(kValid.begin(), kValid.end(), valid) - kValid.begin());
    std::vector<int> alone(kValid.size(), 0);
    alone[at] = valid;
    const Result one = first_step(alone, {1, 1, 1}, 1);
    for (const auto& [name, gradient] : one.gradients) {
      at::Tensor& sum = means[name];
      sum = sum.defined() ? sum.add(gradient, 0.25) : gradient.mul(0.25);
    }
  }
  EXPECT_GT(largest_difference(means, full.gradients), 1e-4);
}

TEST(UnevenTokens, ABatchWithoutLabelsIsSkipped) {
  const Result none = first_step({0, 0}, {1, 1, 2}, 1);
  EXPECT_TRUE(none.step.skipped);
  EXPECT_EQ(none.step.tokens, 0);
}

}  // namespace
}  // namespace merak::testing
