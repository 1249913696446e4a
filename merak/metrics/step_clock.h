// How long steps take, and how much longer a run will.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace merak::metrics {

// A stopwatch on the monotonic clock.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  // Seconds since the start or the last lap; starts the next one.
  double lap() {
    const auto now = Clock::now();
    const auto passed = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return passed;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// The typical duration of the last steps. The mean of the middle half (an
// interquartile mean): a step that also evaluated, saved, or warmed up does not
// shift it, and it does not jump between two speeds as a median would.
class StepClock {
 public:
  explicit StepClock(std::size_t window = 32);

  void add(double seconds);
  std::int64_t count() const { return count_; }

  // Seconds of a typical step; 0 before the first.
  double typical() const;

 private:
  std::vector<double> recent_;  // a ring
  std::size_t window_;
  std::int64_t count_ = 0;
};

}  // namespace merak::metrics
