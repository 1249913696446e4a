#include "merak/metrics/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/str.h"

namespace merak::metrics {
namespace {

constexpr int kUnknownWidth = 80;
constexpr int kBarWidth = 20;
constexpr int kLeastBarWidth = 5;

std::string bar(std::int64_t done, std::int64_t total, int width) {
  const auto cells = static_cast<std::int64_t>(width);
  const std::int64_t filled =
      total > 0 ? std::clamp<std::int64_t>(done * cells / total, 0, cells)
                : cells;
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(cells - filled), ' ') + "] ";
}

}  // namespace

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

int terminal_width(int fd) {
  struct winsize size {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kUnknownWidth;
  }
  return size.ws_col;
}

std::string short_number(double value) {
  if (!std::isfinite(value) || value < 0) return "?";
  constexpr std::string_view kUnits = " kMGTP";
  std::size_t unit = 0;
  // 999.5 would print as 1000 of the unit below.
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  int digits = value >= 9.995 ? 1 : 2;  // three in all
  if (value >= 99.95 || unit == 0) digits = 0;
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (unit > 0) text += kUnits[unit];
  return text;
}

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
  MERAK_CHECK(options_.out != nullptr, "a progress line without an output");
}

std::string Progress::line(std::int64_t done, double loss,
                           double tokens_per_s) const {
  const std::int64_t total = options_.total_steps;
  std::string text = fmt::format("{}/{}  loss {:.4f}  {} tokens/s", done, total,
                                 loss, short_number(tokens_per_s));
  const auto left = static_cast<double>(total - done) * clock_.typical();
  if (done < total) text += "  " + human_duration(left) + " left";
  if (!options_.terminal) return "step " + text;
  // The last column stays free: writing there wraps on some terminals.
  const int room = std::max(options_.width - 1, 0);
  const int spare = room - static_cast<int>(text.size()) - 3;
  if (spare >= kLeastBarWidth) {
    text = bar(done, total, std::min(spare, kBarWidth)) + text;
  }
  return text.substr(0, static_cast<std::size_t>(room));
}

void Progress::step(std::int64_t done, double loss, double tokens_per_s,
                    double step_seconds, double now) {
  clock_.add(step_seconds);
  const std::string text = line(done, loss, tokens_per_s);
  if (options_.terminal) {
    options_.out("\r" + text + "\x1b[K");  // and erase what is left of the old
    open_ = true;
    return;
  }
  const bool last = done >= options_.total_steps;
  if (started_ && !last && now - last_plain_ < options_.plain_interval) return;
  started_ = true;
  last_plain_ = now;
  options_.out(text + "\n");
}

void Progress::finish() {
  if (open_) options_.out("\n");
  open_ = false;
}

}  // namespace merak::metrics
