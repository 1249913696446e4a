#include "merak/schedule/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "merak/base/error.h"
#include "merak/schedule/registry.h"
#include "merak/schedule/text.h"

namespace merak::schedule {
namespace {

using testing::StartsWith;

std::string usage_error(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(MakeSchedule, IsComplete) {
  EXPECT_EQ(
      to_text(
          make_schedule("1f1b", {.stages = 2, .micro_batches = 2}, chain(2))),
      "rank 0: 0F0 0SEND_F0>1 0F1 0SEND_F1>1 0RECV_B0<1 0B0 0RECV_B1<1 0B1 "
      "REDUCE_TIED 0REDUCE STEP\n"
      "rank 1: 1RECV_F0<0 1F0 1RECV_F1<0 1B0 1SEND_B0>0 1F1 1B1 1SEND_B1>0 "
      "REDUCE_TIED 1REDUCE STEP\n");
  EXPECT_EQ(to_text(make_schedule("gpipe", {}, {})),
            "rank 0: 0F0 0B0 REDUCE_TIED 0REDUCE STEP\n");
}

TEST(MakeSchedule, RefusesByName) {
  EXPECT_EQ(usage_error([] { make_schedule("1f2b", {}, {}); }),
            "parallel.schedule is '1f2b'; it is one of gpipe, 1f1b; did you "
            "mean '1f1b'?");
  EXPECT_EQ(usage_error([] { make_schedule("quux", {}, {}); }),
            "parallel.schedule is 'quux'; it is one of gpipe, 1f1b");
  EXPECT_EQ(usage_error([] {
              make_schedule("1f1b",
                            {.stages = 4, .micro_batches = 2, .chunks = 2},
                            chain(4));
            }),
            "parallel.schedule is '1f1b', but parallel.chunks is 2; this "
            "schedule has one stage a rank: set it to 1");
}

TEST(ScheduleFromText, AddsWhatIsMissing) {
  const ScheduleConfig config{.stages = 2, .micro_batches = 2};
  const ActionLists made = make_schedule("1f1b", config, chain(2));
  EXPECT_EQ(schedule_from_text("rank 0: 0F0 0F1 0B0 0B1\n"
                               "rank 1: 1F0 1B0 1F1 1B1\n",
                               "my.schedule", config, chain(2)),
            made);
  EXPECT_EQ(schedule_from_text(to_text(made), "my.schedule", config, chain(2)),
            made);
}

TEST(ScheduleFromText, TakesAnyPlaceOfStages) {
  // A V of two ranks with halved backwards.
  const ActionLists lists = schedule_from_text(
      "rank 0: 0L0 0F0 3F0 3I0 3W0 0R0 0I0 0W0\n"
      "rank 1: 1F0 2F0 2I0 1I0 2W0 1W0\n",
      "my.schedule", {.stages = 4, .micro_batches = 1, .chunks = 2}, chain(4));
  EXPECT_EQ(rank_of_stages(lists, 4), (std::vector<int>{0, 1, 1, 0}));
}

TEST(ScheduleFromText, ErrorsNameTheFile) {
  const ScheduleConfig config{.stages = 2, .micro_batches = 2};
  const auto error = [&](std::string_view text) {
    return usage_error(
        [&] { schedule_from_text(text, "my.schedule", config, chain(2)); });
  };
  EXPECT_EQ(error("rank 0: 0F0"),
            "my.schedule: it has 1 ranks; this run's pipeline has 2");
  EXPECT_THAT(error("rank 0: 0F0 0B0\nrank 1: 1F0 1B0"),
              StartsWith("my.schedule: rank 0, action "));
  EXPECT_THAT(error("rank 0: 0F0 0B0\nrank 1: 1F0 1Z0"),
              StartsWith("my.schedule: line 2, column 13: "));
}

TEST(MakeEvaluation, FollowsThePlaceOfStages) {
  const std::vector<int> ranks = {0, 1, 1, 0};
  EXPECT_EQ(to_text(make_evaluation(ranks, 2, chain(4))),
            "rank 0: 0F0 0SEND_F0>1 0F1 0SEND_F1>1 3RECV_F0<2 3F0 3RECV_F1<2 "
            "3F1\n"
            "rank 1: 1RECV_F0<0 1F0 1RECV_F1<0 1F1 2F0 2SEND_F0>3 2F1 "
            "2SEND_F1>3\n");
}

}  // namespace
}  // namespace merak::schedule
