#include "merak/optim/lr_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "merak/base/error.h"
#include "merak/base/str.h"

namespace merak::optim {
namespace {

// From 0 at step `first` to 1 at step `last`.
double share(std::int64_t step, std::int64_t first, std::int64_t last) {
  if (last <= first) return step >= last ? 1.0 : 0.0;
  const double done =
      static_cast<double>(step - first) / static_cast<double>(last - first);
  return std::clamp(done, 0.0, 1.0);
}

double behind_warmup(const LrSchedule& s, std::int64_t step) {
  return share(step, s.warmup_steps, s.steps - 1);
}

double constant(const LrSchedule& s, std::int64_t) { return s.lr; }

double linear(const LrSchedule& s, std::int64_t step) {
  return s.lr + (s.min_lr - s.lr) * behind_warmup(s, step);
}

double cosine(const LrSchedule& s, std::int64_t step) {
  const double wave = 1.0 + std::cos(std::numbers::pi * behind_warmup(s, step));
  return s.min_lr + (s.lr - s.min_lr) * wave / 2.0;
}

double warmup_stable_decay(const LrSchedule& s, std::int64_t step) {
  const std::int64_t decay = std::max<std::int64_t>(s.steps / 10, 1);
  const std::int64_t first = std::max(s.warmup_steps, s.steps - 1 - decay);
  return s.lr + (s.min_lr - s.lr) * share(step, first, s.steps - 1);
}

struct Row {
  std::string_view name;
  double (*rate)(const LrSchedule&, std::int64_t);
};

constexpr std::array<Row, 4> kSchedules = {{{"constant", &constant},
                                            {"linear", &linear},
                                            {"cosine", &cosine},
                                            {"wsd", &warmup_stable_decay}}};

}  // namespace

std::vector<std::string> lr_schedule_names() {
  std::vector<std::string> names;
  for (const Row& row : kSchedules) names.emplace_back(row.name);
  return names;
}

double learning_rate(const LrSchedule& schedule, std::int64_t step) {
  for (const Row& row : kSchedules) {
    if (row.name != schedule.name) continue;
    if (step < schedule.warmup_steps) {
      return schedule.lr * static_cast<double>(step + 1) /
             static_cast<double>(schedule.warmup_steps);
    }
    return row.rate(schedule, step);
  }
  fail_usage("lr_schedule.name is \"{}\"; known are {}", schedule.name,
             join(lr_schedule_names(), ", "));
}

}  // namespace merak::optim
