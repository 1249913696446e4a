#include "merak/run/verify.h"

#include <ATen/ops/equal.h>

#include <cmath>
#include <map>
#include <mutex>

#include "merak/base/error.h"
#include "merak/run/datasets.h"
#include "merak/run/in_process.h"

namespace merak::run {
namespace {

// Relative, in fp64: sums of a few thousand terms in another order.
constexpr double kTolerance = 1e-9;

struct StepNumbers {
  double loss = 0, grad_norm = 0;
  std::map<std::string, at::Tensor> gradients, parameters;
};
using Numbers = std::vector<StepNumbers>;

StepNumbers numbers_of(const runtime::StepReport& step,
                       const runtime::Trainer& trainer) {
  StepNumbers numbers{step.loss, step.grad_norm, {}, {}};
  for (const runtime::Parameter& parameter :
       trainer.parameters().parameters()) {
    numbers.parameters[parameter.name] = parameter.value.clone();
    if (parameter.trainable) {
      numbers.gradients[parameter.name] =
          runtime::gradient_of(parameter).clone();
    }
  }
  return numbers;
}

class Comparison {
 public:
  Comparison(Verification& result, const Numbers& expected)
      : result_(result), expected_(expected) {}

  // Called by every rank after each of its steps.
  void check(int rank, std::size_t step, const StepNumbers& found) {
    const std::lock_guard lock(mutex_);
    const StepNumbers& wanted = expected_[step];
    const std::string place = fmt::format("step {}, rank {}", step, rank);
    number(place + ", loss", found.loss, wanted.loss);
    number(place + ", gradient norm", found.grad_norm, wanted.grad_norm);
    for (const auto& [name, value] : found.gradients) {
      tensor(place + ", gradient of " + name, value, wanted.gradients.at(name));
    }
    for (const auto& [name, value] : found.parameters) {
      tensor(place + ", parameter " + name, value, wanted.parameters.at(name));
    }
  }

 private:
  void number(const std::string& what, double found, double wanted) {
    const double scale = std::max(std::abs(wanted), 1e-300);
    judge(what, found == wanted, std::abs(found - wanted) / scale,
          fmt::format("{} instead of {}", found, wanted));
  }

  void tensor(const std::string& what, const at::Tensor& found,
              const at::Tensor& wanted) {
    const bool equal = at::equal(found, wanted);
    double difference = 0;
    if (!equal) {
      const double scale = wanted.abs().max().item<double>();
      difference =
          found.sub(wanted).abs().max().item<double>() / std::max(scale, 1e-30);
    }
    judge(what, equal, difference,
          fmt::format("elements differ by up to {:.3g} of the largest",
                      difference));
  }

  void judge(const std::string& what, bool equal, double difference,
             const std::string& how) {
    ++result_.compared;
    const bool good = result_.exact ? equal : difference <= result_.tolerance;
    if (good) {
      result_.largest = std::max(result_.largest, difference);
    } else if (result_.first_difference.empty()) {
      result_.first_difference = what + ": " + how;
    }
  }

  std::mutex mutex_;
  Verification& result_;
  const Numbers& expected_;
};

}  // namespace

Verification verify(const config::Config& given, const config::Layout& layout,
                    std::int64_t steps) {
  config::Config config = config::resolved(given, layout);
  Verification result;
  result.exact = layout.data == 1 && layout.tensor == 1;
  result.steps = steps;
  if (!result.exact) {
    config.train.precision = "fp64";
    result.tolerance = kTolerance;
  }
  result.precision = config.train.precision;
  const auto model = [&] { return runtime::load_model(config); };
  const RunData data =
      open_data(config, model().vocabulary_size, cache_folder_of(config));
  const runtime::Datasets datasets{data.train, nullptr};

  config::Config one = config;
  one.parallel = {};
  one.parallel.schedule = config.parallel.schedule;
  Numbers expected;
  on_ranks(one, {1, 1, 1}, model, datasets, {},
           [&](int, runtime::Trainer& trainer) {
             for (std::int64_t i = 0; i < steps; ++i) {
               const runtime::StepReport step = trainer.step();
               expected.push_back(numbers_of(step, trainer));
             }
           });
  Comparison comparison(result, expected);
  on_ranks(config, layout, model, datasets, {},
           [&](int rank, runtime::Trainer& trainer) {
             for (std::size_t i = 0; i < expected.size(); ++i) {
               const runtime::StepReport step = trainer.step();
               comparison.check(rank, i, numbers_of(step, trainer));
             }
           });
  return result;
}

}  // namespace merak::run
