// The schedules of the table: orders of the reference, formulas, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "merak/base/error.h"
#include "merak/schedule/build.h"
#include "merak/schedule/forward_only.h"
#include "merak/schedule/gpipe.h"
#include "merak/schedule/in_flight.h"
#include "merak/schedule/one_f_one_b.h"
#include "merak/schedule/registry.h"
#include "merak/schedule/text.h"
#include "merak/schedule/timeline.h"
#include "merak/schedule/validate.h"

namespace merak::schedule {
namespace {

ActionLists compute_lists(const Schedule& schedule,
                          const ScheduleConfig& config) {
  ActionLists lists;
  for (int rank = 0; rank < config.ranks(); ++rank) {
    lists.push_back(schedule.compute(config, rank));
  }
  return lists;
}

// The order of computation in the step table of the original Merak.
TEST(OneFOneB, OrderOfTheOriginal) {
  const ActionLists lists =
      compute_lists(find_schedule("1f1b"), {.stages = 4, .micro_batches = 8});
  EXPECT_EQ(to_text(lists),
            "rank 0: 0F0 0F1 0F2 0F3 0B0 0F4 0B1 0F5 0B2 0F6 0B3 0F7 0B4 0B5 "
            "0B6 0B7\n"
            "rank 1: 1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1F5 1B3 1F6 1B4 1F7 1B5 "
            "1B6 1B7\n"
            "rank 2: 2F0 2F1 2B0 2F2 2B1 2F3 2B2 2F4 2B3 2F5 2B4 2F6 2B5 2F7 "
            "2B6 2B7\n"
            "rank 3: 3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 3F4 3B4 3F5 3B5 3F6 3B6 "
            "3F7 3B7\n");
}

// The original's Gantt strips, where a backward recomputes and so takes 3.
TEST(OneFOneB, TimelineOfTheOriginal) {
  const ActionLists lists =
      compute_lists(find_schedule("1f1b"), {.stages = 4, .micro_batches = 8});
  EXPECT_EQ(draw(lay_out(lists, chain(4), {.backward = 3})),
            "rank 0  0123.........aaa4bbb5ccc6ddd7eee.fff.ggg.hhh\n"
            "rank 1  .012......aaa3bbb4ccc5ddd6eee7fff.ggg.hhh...\n"
            "rank 2  ..01...aaa2bbb3ccc4ddd5eee6fff7ggg.hhh......\n"
            "rank 3  ...0aaa1bbb2ccc3ddd4eee5fff6ggg7hhh.........\n");
}

TEST(OneFOneB, TimelineOfTheHeader) {
  const ActionLists lists =
      compute_lists(find_schedule("1f1b"), {.stages = 4, .micro_batches = 8});
  EXPECT_EQ(draw(lay_out(lists, chain(4))),
            "rank 0  0123......aa4bb5cc6dd7ee.ff.gg.hh\n"
            "rank 1  .012....aa3bb4cc5dd6ee7ff.gg.hh..\n"
            "rank 2  ..01..aa2bb3cc4dd5ee6ff7gg.hh....\n"
            "rank 3  ...0aa1bb2cc3dd4ee5ff6gg7hh......\n");
}

TEST(OneFOneB, FewerMicroBatchesThanStages) {
  const ActionLists lists =
      compute_lists(find_schedule("1f1b"), {.stages = 3, .micro_batches = 2});
  EXPECT_EQ(to_text(lists),
            "rank 0: 0F0 0F1 0B0 0B1\n"
            "rank 1: 1F0 1F1 1B0 1B1\n"
            "rank 2: 2F0 2B0 2F1 2B1\n");
}

TEST(GPipe, TimelineOfTheHeader) {
  const ActionLists lists =
      compute_lists(find_schedule("gpipe"), {.stages = 4, .micro_batches = 4});
  EXPECT_EQ(draw(lay_out(lists, chain(4))),
            "rank 0  0123.........aabbccdd\n"
            "rank 1  .0123......aabbccdd..\n"
            "rank 2  ..0123...aabbccdd....\n"
            "rank 3  ...0123aabbccdd......\n");
}

TEST(ForwardOnly, TimelineOfTheHeader) {
  const std::vector<int> ranks = {0, 1, 2, 3};
  EXPECT_EQ(draw(lay_out(forward_only(ranks, 4), chain(4))),
            "rank 0  0123...\n"
            "rank 1  .0123..\n"
            "rank 2  ..0123.\n"
            "rank 3  ...0123\n");
}

TEST(ForwardOnly, SeveralStagesARank) {
  const std::vector<int> ranks = {0, 1, 0, 1};
  EXPECT_EQ(to_text(forward_only(ranks, 3)),
            "rank 0: 0F0 0F1 0F2 2F0 2F1 2F2\n"
            "rank 1: 1F0 1F1 1F2 3F0 3F1 3F2\n");
}

// Sums in the order of one process: each stage's forwards and backwards in
// order of micro-batches.
bool in_order(const ActionList& list, bool (*wanted)(ActionType)) {
  int last = -1;
  return std::ranges::all_of(list, [&](const Action& action) {
    if (!wanted(action.type)) return true;
    const bool next = action.micro_batch == last + 1;
    last = action.micro_batch;
    return next;
  });
}

std::vector<Edge> with_skips(int stages) {
  std::vector<Edge> edges = chain(stages);
  for (int to = 2; to < stages; ++to) {
    edges.push_back({.source = 0, .destination = to});
    if (to > 2) edges.push_back({1, to, false});
  }
  return edges;
}

TEST(Schedules, SweepObeysFormulasAndRules) {
  for (const Schedule& schedule : schedules()) {
    for (int p = 1; p <= 8; ++p) {
      for (int m = 1; m <= 32; ++m) {
        SCOPED_TRACE(fmt::format("{} p={} m={}", schedule.name, p, m));
        const ScheduleConfig config{.stages = p, .micro_batches = m};
        ASSERT_EQ(schedule.refusal(config), "");
        const ActionLists compute = compute_lists(schedule, config);
        for (const auto& [f, b] :
             std::vector<std::pair<int, int>>{{1, 2}, {1, 1}, {2, 3}, {3, 1}}) {
          EXPECT_EQ(lay_out(compute, chain(p), {.forward = f, .backward = b})
                        .makespan,
                    (m + p - 1) * (f + b));
        }
        for (int rank = 0; rank < p; ++rank) {
          const auto& list = compute[static_cast<std::size_t>(rank)];
          EXPECT_EQ(max_in_flight(list),
                    schedule.name == "gpipe" ? m : std::min(m, p - rank));
          EXPECT_EQ(in_order(list, makes_weight_gradients),
                    schedule.keeps_order);
        }
        for (const auto& edges : {chain(p), with_skips(p)}) {
          const ActionLists lists = make_schedule(schedule.name, config, edges);
          // The limit is tight.
          const int most = std::ranges::max(max_in_flight(lists));
          Rules rules{.stages = p, .micro_batches = m, .edges = edges};
          rules.max_in_flight = most;
          EXPECT_NO_THROW(validate(lists, rules));
          rules.max_in_flight = most - 1;
          if (most > 1) {
            EXPECT_THROW(validate(lists, rules), Error);
          }
        }
      }
    }
  }
}

TEST(InFlight, HalvedBackwardsHoldUntilTheWeightGradient) {
  EXPECT_EQ(max_in_flight(ActionList{}), 0);
  const ActionLists lists = parse_schedule(
      "rank 0: 0F0 0I0 0F1 0I1 0F2 0W0 0W1 0I2 0W2\n"
      "rank 1: 1F0 1B0 1F1 1B1 1F2 1B2",
      "test");
  EXPECT_EQ(max_in_flight(lists), (std::vector<int>{3, 1}));
}

}  // namespace
}  // namespace merak::schedule
