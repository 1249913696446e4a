// The line that a user watches while a run goes on.
//
//   [#########           ] 45/100  loss 3.2041  12.3k tokens/s  1m07s left
//
// On a terminal one line is rewritten; elsewhere (a file, a pipe) a plain line
// is written every few seconds and at the end, so that logs stay short.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "merak/metrics/step_clock.h"

namespace merak::metrics {

struct ProgressOptions {
  std::int64_t first_step = 0;  // steps done before this run (resume)
  std::int64_t total_steps = 0;
  bool terminal = false;
  int width = 80;              // columns of the terminal
  double plain_interval = 10;  // seconds between plain lines
  // Gets what to write, as it is. Not called from other threads.
  std::function<void(std::string_view)> out;
};

bool is_terminal(int fd);
int terminal_width(int fd);  // columns; 80 if unknown

// "987", "12.3k", "4.56M": three digits.
std::string short_number(double value);

class Progress {
 public:
  explicit Progress(ProgressOptions options);

  // After each step. `done` counts from 0: steps finished, those before
  // first_step included. `now` in seconds of any monotonic clock: the caller's,
  // so that tests need none.
  void step(std::int64_t done, double loss, double tokens_per_s,
            double step_seconds, double now);

  // Ends the terminal's line. Call before anything else writes for good.
  void finish();

 private:
  std::string line(std::int64_t done, double loss, double tokens_per_s) const;

  ProgressOptions options_;
  StepClock clock_;
  double last_plain_ = 0;
  bool started_ = false;
  bool open_ = false;  // an unfinished line is on the terminal
};

}  // namespace merak::metrics
