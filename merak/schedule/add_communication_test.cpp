#include "merak/schedule/add_communication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/base/error.h"
#include "merak/schedule/add_step.h"
#include "merak/schedule/text.h"

namespace merak::schedule {
namespace {

using testing::HasSubstr;

std::string with_messages(std::string_view compute,
                          const std::vector<Edge>& edges, int stages) {
  return to_text(
      add_communication(parse_schedule(compute, "test"), edges, stages));
}

TEST(AddCommunication, NeighboursBothWays) {
  EXPECT_EQ(with_messages("rank 0: 0F0 0F1 0B0 0B1\n"
                          "rank 1: 1F0 1B0 1F1 1B1\n",
                          chain(2), 2),
            "rank 0: 0F0 0SEND_F0>1 0F1 0SEND_F1>1 0RECV_B0<1 0B0 0RECV_B1<1 "
            "0B1\n"
            "rank 1: 1RECV_F0<0 1F0 1RECV_F1<0 1B0 1SEND_B0>0 1F1 1B1 "
            "1SEND_B1>0\n");
}

TEST(AddCommunication, ReceiveStandsWhereTheValueIsMade) {
  // Stage 1 computes its first forward while stage 0 makes values 1 and 2.
  EXPECT_EQ(with_messages("rank 0: 0F0 0F1 0F2\n"
                          "rank 1: 1F0 1F1 1F2\n",
                          chain(2), 2),
            "rank 0: 0F0 0SEND_F0>1 0F1 0SEND_F1>1 0F2 0SEND_F2>1\n"
            "rank 1: 1RECV_F0<0 1F0 1RECV_F1<0 1F1 1RECV_F2<0 1F2\n");
}

TEST(AddCommunication, SkipEdgesGoStraight) {
  EXPECT_EQ(with_messages("rank 0: 0F0 0B0\n"
                          "rank 1: 1F0 1B0\n"
                          "rank 2: 2F0 2B0\n",
                          {{0, 1}, {0, 2}, {1, 2}}, 3),
            "rank 0: 0F0 0SEND_F0>1 0SEND_F0>2 0RECV_B0<2 0RECV_B0<1 0B0\n"
            "rank 1: 1RECV_F0<0 1F0 1SEND_F0>2 1RECV_B0<2 1B0 1SEND_B0>0\n"
            "rank 2: 2RECV_F0<0 2RECV_F0<1 2F0 2B0 2SEND_B0>0 2SEND_B0>1\n");
}

TEST(AddCommunication, NoGradientWhereNoneFlows) {
  EXPECT_EQ(with_messages("rank 0: 0F0 0B0\n"
                          "rank 1: 1F0 1B0\n",
                          {{0, 1, false}}, 2),
            "rank 0: 0F0 0SEND_F0>1 0B0\n"
            "rank 1: 1RECV_F0<0 1F0 1B0\n");
}

TEST(AddCommunication, NoMessageWithinARank) {
  EXPECT_EQ(with_messages("rank 0: 0F0 1F0 1B0 0B0\n", chain(2), 2),
            "rank 0: 0F0 1F0 1B0 0B0\n");
  // Stages 1 and 2 are on one rank, as in a V.
  EXPECT_EQ(with_messages("rank 0: 0F0 3F0 3B0 0B0\n"
                          "rank 1: 1F0 2F0 2B0 1B0\n",
                          chain(4), 4),
            "rank 0: 0F0 0SEND_F0>1 3RECV_F0<2 3F0 3B0 3SEND_B0>2 0RECV_B0<1 "
            "0B0\n"
            "rank 1: 1RECV_F0<0 1F0 2F0 2SEND_F0>3 2RECV_B0<3 2B0 1B0 "
            "1SEND_B0>0\n");
}

TEST(AddCommunication, GradientsLeaveAfterTheInputHalf) {
  EXPECT_EQ(with_messages("rank 0: 0L0 0F0 0R0 0I0 0W0\n"
                          "rank 1: 1F0 1I0 1W0\n",
                          chain(2), 2),
            "rank 0: 0L0 0F0 0SEND_F0>1 0R0 0RECV_B0<1 0I0 0W0\n"
            "rank 1: 1RECV_F0<0 1F0 1I0 1SEND_B0>0 1W0\n");
}

TEST(AddCommunication, RefusesCirclesAndStagesOnTwoRanks) {
  const auto error = [](std::string_view compute) {
    try {
      with_messages(compute, chain(2), 2);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error("rank 0: 0F0 0B0 0F1 0B1\nrank 1: 1F0 1F1 1B0 1B1"),
              HasSubstr("rank 0, action 1 (0B0): 1B0 never comes"));
  EXPECT_THAT(error("rank 0: 0F0 1F0\nrank 1: 1B0 0B0"),
              HasSubstr("rank 1, action 0 (1B0): stage 1 is on rank 0"));
  EXPECT_THAT(error("rank 0: 0F0 0B0\nrank 1: 2F0"),
              HasSubstr("rank 1, action 0 (2F0): there is no stage 2"));
  EXPECT_THAT(error("rank 0: 0F0 0B0"), HasSubstr("stage 1 is on no rank"));
}

TEST(AddStep, ReducesStagesInTheOrderOfTheirLastBackward) {
  ActionLists lists = parse_schedule(
      "rank 0: 0F0 2F0 2B0 0B0\n"
      "rank 1: 1F0 1I0 1W0\n",
      "test");
  add_step(lists);
  EXPECT_EQ(to_text(lists),
            "rank 0: 0F0 2F0 2B0 0B0 REDUCE_TIED 2REDUCE 0REDUCE STEP\n"
            "rank 1: 1F0 1I0 1W0 REDUCE_TIED 1REDUCE STEP\n");
}

}  // namespace
}  // namespace merak::schedule
