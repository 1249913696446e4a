#include "merak/dist/launch/heartbeat.h"

#include <gtest/gtest.h>

#include "merak/dist/launch/heartbeat_lines.h"

namespace merak::dist {
namespace {

using std::chrono::seconds;

// The steps that a launcher hears of, until it has heard of `wanted`.
std::vector<std::int64_t> steps_until(LineSocket& launcher,
                                      std::int64_t wanted) {
  std::vector<std::int64_t> steps;
  const TimePoint end = std::chrono::steady_clock::now() + seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    pollfd entry = launcher.poll_entry();
    poll(&entry, 1, 100);
    for (const std::string& text : launcher.read_lines()) {
      const Line line = parse_line(text);
      if (line.word != "beat") continue;
      const auto progress = parse_progress(line.rest);
      if (progress) steps.push_back(progress->step);
      if (!steps.empty() && steps.back() == wanted) return steps;
    }
  }
  return steps;
}

// Who is killed between two beats is killed in a step that is known.
TEST(Heartbeat, TellsANewStepAtOnce) {
  auto [mine, theirs] = socket_pair();
  LineSocket launcher(std::move(mine));
  HeartbeatOptions options;
  options.on_end = [](const std::string&) {};
  options.period = seconds(3600);
  Heartbeat heartbeat(options);
  ASSERT_TRUE(heartbeat.attach_launcher(theirs.release()));
  for (const std::int64_t step : {0, 1}) {
    heartbeat.set_progress(step, 0, "forward of stage 0");
    const std::vector<std::int64_t> steps = steps_until(launcher, step);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.back(), step);
  }
  heartbeat.finish();
}

}  // namespace
}  // namespace merak::dist
