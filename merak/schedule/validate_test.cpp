#include "merak/schedule/validate.h"

#include <gtest/gtest.h>

#include "merak/base/error.h"
#include "merak/schedule/text.h"

namespace merak::schedule {
namespace {

std::string fault(std::string_view text, const Rules& rules) {
  try {
    validate(parse_schedule(text, "test"), rules);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "sound";
}

const Rules kOne = {.stages = 1, .micro_batches = 1};

TEST(Validate, OneStage) {
  const auto of = [](std::string_view text) {
    return fault("rank 0: " + std::string(text), kOne);
  };
  EXPECT_EQ(of("0F0 0B0 REDUCE_TIED 0REDUCE STEP"), "sound");
  EXPECT_EQ(of("0F0 0B0 0REDUCE REDUCE_TIED STEP"), "sound");
  EXPECT_EQ(of("0L0 0F0 0R0 0I0 0W0 REDUCE_TIED 0REDUCE STEP"), "sound");
  EXPECT_EQ(of("0B0 0F0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 0 (0B0): 0F0 must come before it");
  EXPECT_EQ(of("0F0 0F0 0B0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 1 (0F0): it comes a second time");
  EXPECT_EQ(of("0F0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 4 (the end): 0B0 is missing");
  EXPECT_EQ(of("0F0 0I0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 5 (the end): 0W0 is missing");
  EXPECT_EQ(of("0F0 0W0 0I0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 1 (0W0): 0I0 must come before it");
  EXPECT_EQ(of("0F0 0B0 0I0 0W0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 2 (0I0): it must not come after 0B0");
  EXPECT_EQ(of("0F0 0I0 0B0 0W0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 2 (0B0): it must not come after 0I0");
  EXPECT_EQ(of("0F0 0L0 0B0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 1 (0L0): it must not come after 0F0");
  EXPECT_EQ(of("0R0 0F0 0B0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 0 (0R0): 0F0 must come before it");
  EXPECT_EQ(of("0F0 0B0 0R0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 2 (0R0): it must not come after 0B0");
  EXPECT_EQ(of("0F0 0REDUCE 0B0 REDUCE_TIED STEP"),
            "rank 0, action 2 (0B0): it must not come after 0REDUCE");
  EXPECT_EQ(of("0F0 0I0 REDUCE_TIED 0W0 0REDUCE STEP"),
            "rank 0, action 3 (0W0): it must not come after REDUCE_TIED");
  EXPECT_EQ(of("0F0 0B0 REDUCE_TIED STEP 0REDUCE"),
            "rank 0, action 4 (0REDUCE): it must not come after STEP");
  EXPECT_EQ(of("0F0 0B0 0REDUCE STEP"),
            "rank 0, action 4 (the end): REDUCE_TIED is missing");
  EXPECT_EQ(of("0F0 0F1 0B0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 1 (0F1): there is no micro-batch 1; they are 0 to "
            "0");
  EXPECT_EQ(of("0F0 0SEND_F0>1 0B0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 1 (0SEND_F0>1): no such message is needed; values "
            "of stage 0 for stage 1 have none this way");
  EXPECT_EQ(of("1F0 0F0 0B0 REDUCE_TIED 0REDUCE STEP"),
            "rank 0, action 0 (1F0): there is no stage 1; stages are 0 to 0");
}

const Rules kTwo = {.stages = 2, .micro_batches = 2, .edges = chain(2)};
const std::string kEnd0 = " REDUCE_TIED 0REDUCE STEP\n";
const std::string kEnd1 = " REDUCE_TIED 1REDUCE STEP\n";
const std::string kRank1 =
    "rank 1: 1RECV_F0<0 1F0 1B0 1SEND_B0>0 1RECV_F1<0 1F1 1B1 1SEND_B1>0" +
    kEnd1;

TEST(Validate, Messages) {
  const auto of = [](const std::string& rank0,
                     const std::string& rank1 = kRank1) {
    return fault("rank 0: " + rank0 + kEnd0 + rank1, kTwo);
  };
  EXPECT_EQ(of("0F0 0SEND_F0>1 0F1 0RECV_B0<1 0B0 0SEND_F1>1 0RECV_B1<1 0B1"),
            "sound");
  // Both send and neither receives: fine with buffers, a deadlock without.
  EXPECT_EQ(of("0F0 0SEND_F0>1 0F1 0SEND_F1>1 0RECV_B0<1 0B0 0RECV_B1<1 0B1"),
            "rank 0, action 3 (0SEND_F1>1): it waits for ever; meanwhile rank "
            "1, action 3 (1SEND_B0>0)");
  EXPECT_EQ(of("0F0 0SEND_F0>1 0F1 0RECV_B1<1 0B1 0SEND_F1>1 0RECV_B0<1 0B0"),
            "rank 0, action 3 (0RECV_B1<1): it should be 0RECV_B0<1, to match "
            "rank 1, action 3 (1SEND_B0>0)");
  EXPECT_EQ(of("0SEND_F0>1 0F0 0F1 0RECV_B0<1 0B0 0SEND_F1>1 0RECV_B1<1 0B1"),
            "rank 0, action 0 (0SEND_F0>1): 0F0 must come before it");
  EXPECT_EQ(of("0F0 0SEND_F0>1 0F1 0B0 0RECV_B0<1 0SEND_F1>1 0RECV_B1<1 0B1"),
            "rank 0, action 3 (0B0): 0RECV_B0<1 must come before it");
  EXPECT_EQ(of("0F0 0SEND_F0>1 0F1 0RECV_B0<1 0B0 0RECV_B1<1 0B1"),
            "rank 0, action 10 (the end): 0SEND_F1>1 is missing");
  EXPECT_EQ(
      of("0F0 0SEND_F0>1 0F1 0RECV_B0<1 0B0 0SEND_F1>1 0RECV_B1<1 0B1",
         "rank 1: 1F0 1RECV_F0<0 1B0 1SEND_B0>0 1RECV_F1<0 1F1 1B1 1SEND_B1>0" +
             kEnd1),
      "rank 1, action 0 (1F0): 1RECV_F0<0 must come before it");
  EXPECT_EQ(
      of("0F0 0SEND_F0>1 0F1 0RECV_B0<1 0B0 0SEND_F1>1 0RECV_B1<1 0B1",
         "rank 1: 1RECV_F0<0 1F0 1B0 1SEND_B0>0 1RECV_F1<0 1F1 1B1 REDUCE_TIED "
         "1SEND_B1>0 1REDUCE STEP"),
      "rank 0, action 6 (0RECV_B1<1): it waits for ever; meanwhile rank 1, "
      "action 7 (REDUCE_TIED)");
}

TEST(Validate, EdgesSayWhichMessages) {
  const std::string text =
      "rank 0: 0F0 0SEND_F0>1 0B0 REDUCE_TIED 0REDUCE STEP\n"
      "rank 1: 1RECV_F0<0 1F0 1B0 REDUCE_TIED 1REDUCE STEP\n";
  Rules rules = {.stages = 2, .micro_batches = 1, .edges = {{0, 1, false}}};
  EXPECT_EQ(fault(text, rules), "sound");
  rules.edges = chain(2);
  EXPECT_EQ(fault(text, rules),
            "rank 0, action 2 (0B0): 0RECV_B0<1 must come before it");
  rules.edges.clear();
  EXPECT_EQ(fault(text, rules),
            "rank 0, action 1 (0SEND_F0>1): no such message is needed; values "
            "of stage 0 for stage 1 have none this way");
}

TEST(Validate, StagesOfOneRankPassValuesInOrder) {
  const Rules rules = {.stages = 2, .micro_batches = 1, .edges = chain(2)};
  const std::string end = " REDUCE_TIED 1REDUCE 0REDUCE STEP";
  EXPECT_EQ(fault("rank 0: 0F0 1F0 1B0 0B0" + end, rules), "sound");
  EXPECT_EQ(fault("rank 0: 0F0 1F0 1I0 0I0 0W0 1W0" + end, rules), "sound");
  EXPECT_EQ(fault("rank 0: 1F0 0F0 1B0 0B0" + end, rules),
            "rank 0, action 0 (1F0): 0F0 must come before it");
  EXPECT_EQ(fault("rank 0: 0F0 1F0 0B0 1B0" + end, rules),
            "rank 0, action 2 (0B0): 1B0 must come before it");
}

TEST(Validate, InFlight) {
  Rules rules = {.stages = 1, .micro_batches = 2};
  rules.max_in_flight = 1;
  const std::string end = " REDUCE_TIED 0REDUCE STEP";
  EXPECT_EQ(fault("rank 0: 0F0 0B0 0F1 0B1" + end, rules), "sound");
  EXPECT_EQ(fault("rank 0: 0F0 0F1 0B0 0B1" + end, rules),
            "rank 0, action 1 (0F1): 2 micro-batches are in flight; the limit "
            "is 1");
}

TEST(Validate, Evaluation) {
  Rules rules = {.stages = 2, .micro_batches = 1, .edges = chain(2)};
  rules.training = false;
  EXPECT_EQ(fault("rank 0: 0L0 0F0 0SEND_F0>1\nrank 1: 1RECV_F0<0 1F0", rules),
            "sound");
  EXPECT_EQ(fault("rank 0: 0F0 0SEND_F0>1\nrank 1: 1RECV_F0<0 1F0 1B0", rules),
            "rank 1, action 2 (1B0): an evaluation has loads and forwards "
            "only");
}

TEST(Validate, RanksWithoutStages) {
  EXPECT_EQ(fault("rank 0: 0F0 0B0 REDUCE_TIED 0REDUCE STEP\n"
                  "rank 1: REDUCE_TIED STEP",
                  kOne),
            "sound");
  EXPECT_EQ(fault("rank 0: 0F0 0B0 REDUCE_TIED 0REDUCE STEP\nrank 1:", kOne),
            "rank 1, action 0 (the end): REDUCE_TIED is missing");
}

}  // namespace
}  // namespace merak::schedule
