#include "merak/metrics/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace merak::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Screen {
  std::vector<std::string> written;
  ProgressOptions options(std::int64_t total, bool terminal, int width = 80) {
    ProgressOptions result;
    result.total_steps = total;
    result.terminal = terminal;
    result.width = width;
    result.out = [this](std::string_view text) { written.emplace_back(text); };
    return result;
  }
};

TEST(Progress, ATerminalsLineIsRewritten) {
  Screen screen;
  Progress progress(screen.options(4, true));
  progress.step(1, 3.25, 12345, 2, 0);
  progress.step(4, 2, 12345, 2, 2);
  progress.finish();
  progress.finish();
  EXPECT_THAT(screen.written,
              ElementsAre("\r[#####               ] 1/4  loss 3.2500  12.3k "
                          "tokens/s  6.0s left\x1b[K",
                          "\r[####################] 4/4  loss 2.0000  12.3k "
                          "tokens/s\x1b[K",
                          "\n"));
}

TEST(Progress, NoWidthIsOverrun) {
  for (int width = 0; width <= 100; ++width) {
    Screen screen;
    Progress progress(screen.options(1000000, true, width));
    progress.step(999, 12345.678, 1e9, 3600, 0);
    const std::string& text = screen.written.at(0);
    const std::size_t visible = text.size() - 1 - 3;  // "\r", "\x1b[K"
    EXPECT_LE(visible, static_cast<std::size_t>(std::max(width - 1, 0)));
  }
}

TEST(Progress, ANarrowTerminalHasNoBar) {
  Screen screen;
  Progress progress(screen.options(10, true, 50));
  progress.step(1, 1, 1, 1, 0);
  EXPECT_THAT(screen.written.at(0), Not(HasSubstr("[#")));
  EXPECT_THAT(screen.written.at(0), HasSubstr("1/10  loss"));
}

TEST(Progress, ElsewhereAPlainLineNowAndThen) {
  Screen screen;
  Progress progress(screen.options(100, false));
  for (int step = 1; step <= 100; ++step) {
    progress.step(step, 1, 1000, 1, step);
  }
  progress.finish();
  ASSERT_EQ(screen.written.size(), 11u);  // 1, 11, ..., 91, 100
  EXPECT_EQ(screen.written[0],
            "step 1/100  loss 1.0000  1.00k tokens/s  1m39s left\n");
  EXPECT_THAT(screen.written[1], HasSubstr("step 11/100"));
  EXPECT_EQ(screen.written[10], "step 100/100  loss 1.0000  1.00k tokens/s\n");
}

TEST(Progress, TimeLeftIgnoresASlowStep) {
  Screen screen;
  Progress progress(screen.options(20, true));
  progress.step(1, 1, 1, 500, 0);  // warm-up
  for (int step = 2; step <= 10; ++step) progress.step(step, 1, 1, 1, step);
  EXPECT_THAT(screen.written.back(), HasSubstr("10s left"));
}

TEST(Progress, StrangeNumbersAreShown) {
  Screen screen;
  Progress progress(screen.options(2, true));
  progress.step(1, std::nan(""), std::nan(""), std::nan(""), 0);
  EXPECT_THAT(screen.written.at(0), HasSubstr("loss nan  ? tokens/s  ? left"));
}

TEST(Progress, ShortNumbers) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(987.4), "987");
  EXPECT_EQ(short_number(999.6), "1.00k");
  EXPECT_EQ(short_number(12345), "12.3k");
  EXPECT_EQ(short_number(4.56e6), "4.56M");
  EXPECT_EQ(short_number(99950), "100k");
}

}  // namespace
}  // namespace merak::metrics
