// Learning rates: pure functions of the step, without LibTorch.
//
// With k the step (from 0), w warm-up steps, n steps in all, and t the share of
// the steps behind the warm-up that is done, (k - w) / (n - 1 - w), in [0, 1]:
//
//   warm-up    lr * (k + 1) / w              for k < w
//   constant   lr
//   linear     lr + (min_lr - lr) * t
//   cosine     min_lr + (lr - min_lr) * (1 + cos(pi * t)) / 2
//   wsd        lr, and over the last tenth of all steps linearly to min_lr
//              (warm-up, stable, decay: Hu et al., arXiv 2404.06395)
//
// The last step has min_lr (but for constant).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace merak::optim {

struct LrSchedule {
  std::string name = "cosine";
  double lr = 3e-4;
  double min_lr = 3e-5;
  std::int64_t warmup_steps = 10;
  std::int64_t steps = 100;
};

// Usage error if no schedule has this name.
double learning_rate(const LrSchedule& schedule, std::int64_t step);

std::vector<std::string> lr_schedule_names();

}  // namespace merak::optim
