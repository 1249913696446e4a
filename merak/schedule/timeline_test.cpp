#include "merak/schedule/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/base/error.h"
#include "merak/schedule/text.h"

namespace merak::schedule {
namespace {

TEST(Timeline, WaitsForValuesAndForTheRank) {
  const ActionLists lists = parse_schedule(
      "rank 0: 0F0 0F1 0B0 0B1\n"
      "rank 1: 1F0 1B0 1F1 1B1\n",
      "test");
  const Timeline timeline = lay_out(lists, chain(2));
  EXPECT_EQ(draw(timeline),
            "rank 0  01..aa.bb\n"
            "rank 1  .0aa1bb..\n");
  EXPECT_EQ(timeline.makespan, 9);
  EXPECT_EQ(timeline.ranks[1][2].start, 4);
  EXPECT_EQ(timeline.ranks[1][2].finish, 5);
}

TEST(Timeline, HalvedBackwardsAndRecompute) {
  // ZB-H1's idea (arXiv:2401.10241): weight gradients fill the wait.
  const ActionLists lists = parse_schedule(
      "rank 0: 0F0 0R0 0I0 0W0\n"
      "rank 1: 1F0 1I0 1W0\n",
      "test");
  EXPECT_EQ(draw(lay_out(lists, chain(2))),
            "rank 0  0A.a=\n"
            "rank 1  .0a=.\n");
  UnitCosts costs;
  costs.backward_input = 2;
  EXPECT_EQ(draw(lay_out(lists, chain(2), costs)),
            "rank 0  0A..aa=\n"
            "rank 1  .0aa=..\n");
}

TEST(Timeline, SkipEdgesAndEdgesWithoutGradient) {
  const ActionLists lists = parse_schedule(
      "rank 0: 0F0 0B0\n"
      "rank 1: 1F0 1B0\n"
      "rank 2: 2F0 2B0\n",
      "test");
  const std::vector<Edge> skip = {{0, 2}, {1, 2, false}};
  EXPECT_EQ(draw(lay_out(lists, skip)),
            "rank 0  0...aa\n"
            "rank 1  0aa...\n"
            "rank 2  .0aa..\n");
}

TEST(Timeline, NamesWhatNeverComes) {
  const auto error = [](std::string_view text) {
    try {
      lay_out(parse_schedule(text, "test"), chain(2));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error("rank 0: 0F0 0B0 0F1\nrank 1: 1F0 1F1 1B0 1B1"),
            "rank 0, action 1 (0B0): 1B0 never comes before it");
  EXPECT_EQ(error("rank 0: 0F0 0B0\nrank 1: 1B0"),
            "rank 0, action 1 (0B0): 1B0 never comes before it");
  EXPECT_EQ(error("rank 0: \nrank 1: 1F0"),
            "rank 1, action 0 (1F0): 0F0 never comes before it");
}

}  // namespace
}  // namespace merak::schedule
