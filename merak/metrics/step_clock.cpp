#include "merak/metrics/step_clock.h"

#include <algorithm>
#include <numeric>

#include "merak/base/error.h"

namespace merak::metrics {

StepClock::StepClock(std::size_t window) : window_(window) {
  MERAK_CHECK(window >= 1, "a window of {} steps", window);
}

void StepClock::add(double seconds) {
  if (recent_.size() < window_) {
    recent_.push_back(seconds);
  } else {
    recent_[static_cast<std::size_t>(count_) % window_] = seconds;
  }
  ++count_;
}

double StepClock::typical() const {
  if (recent_.empty()) return 0;
  std::vector<double> sorted = recent_;
  std::sort(sorted.begin(), sorted.end());
  const auto cut = static_cast<std::ptrdiff_t>((sorted.size() - 1) / 4);
  const auto begin = sorted.begin() + cut;
  const auto end = sorted.end() - cut;
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

}  // namespace merak::metrics
