#include "merak/metrics/step_clock.h"

#include <gtest/gtest.h>

#include "merak/base/error.h"

namespace merak::metrics {
namespace {

TEST(StepClock, NothingBeforeTheFirstStep) {
  StepClock clock;
  EXPECT_EQ(clock.typical(), 0);
  clock.add(2);
  EXPECT_EQ(clock.typical(), 2);
  clock.add(4);
  EXPECT_EQ(clock.typical(), 3);
}

TEST(StepClock, OutliersDoNotShiftIt) {
  StepClock clock(8);
  for (double seconds : {900.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}) {
    clock.add(seconds);
  }
  EXPECT_EQ(clock.typical(), 1);
}

TEST(StepClock, OldStepsAreForgotten) {
  StepClock clock(4);
  for (int i = 0; i < 10; ++i) clock.add(1);
  for (int i = 0; i < 4; ++i) clock.add(3);
  EXPECT_EQ(clock.typical(), 3);
  EXPECT_EQ(clock.count(), 14);
}

TEST(StepClock, AWindowOfNothingIsABug) { EXPECT_THROW(StepClock(0), Error); }

TEST(Stopwatch, LapsAddUp) {
  Stopwatch total;
  Stopwatch laps;
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += laps.lap();
  EXPECT_GE(sum, 0);
  EXPECT_GE(total.seconds(), sum);
}

}  // namespace
}  // namespace merak::metrics
