#include "merak/schedule/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "merak/base/error.h"

namespace merak::schedule {
namespace {

using testing::HasSubstr;
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

TEST(Text, EveryTypeBothWays) {
  const std::vector<std::pair<Action, std::string>> cases = {
      {load(0, 1), "0L1"},
      {forward(12, 345), "12F345"},
      {recompute(0, 1), "0R1"},
      {backward(1, 0), "1B0"},
      {backward_input(1, 3), "1I3"},
      {backward_weight(1, 3), "1W3"},
      {send_activation(0, 1, 2), "0SEND_F1>2"},
      {receive_activation(2, 1, 0), "2RECV_F1<0"},
      {send_gradient(2, 1, 0), "2SEND_B1>0"},
      {receive_gradient(0, 1, 2), "0RECV_B1<2"},
      {reduce_gradients(7), "7REDUCE"},
      {reduce_tied_gradients(), "REDUCE_TIED"},
      {optimizer_step(), "STEP"},
  };
  for (const auto& [action, text] : cases) {
    EXPECT_EQ(to_text(action), text);
    EXPECT_EQ(parse_action(text), action) << text;
  }
}

TEST(Text, WrongActionsSayWhatIsRight) {
  const auto error = [](std::string_view text) {
    return usage_error([&] { parse_action(text); });
  };
  EXPECT_THAT(error("0X1"), StartsWith("'0X1' is no action; actions look like"
                                       " 0L1 0F1 0R1 0B1 0I1 0W1 0SEND_F1>2"));
  EXPECT_EQ(error("F1"), "'F1' is no action; F is written like 0F1");
  EXPECT_EQ(error("0F"), "'0F' is no action; F is written like 0F1");
  EXPECT_EQ(error("0SEND_F1<2"),
            "'0SEND_F1<2' is no action; SEND_F is written like 0SEND_F1>2");
  EXPECT_EQ(error("1STEP"), "'1STEP' is no action; STEP is written like STEP");
  EXPECT_EQ(error("0F1000000"), "'0F1000000': a number of 1000000 or more");
  for (const char* text : {"", "0", "0f1", "0F1>", "0F1>2", "0SEND_F1>", "0F1 ",
                           "-1F0", "0F-1", "0REDUCE1", "0SEND_F1>2>3", "0F1x",
                           "99999999999999999999F1", "STEP>", "0\xC3\xA9"}) {
    EXPECT_NE(error(text), "no error") << text;
  }
}

TEST(Text, ScheduleBothWays) {
  const ActionLists lists = parse_schedule(
      "# a schedule\n\n"
      "rank 0: 0F0 0F1\t# comment 0F2\r\n"
      "   0B0\n"
      "  0B1 STEP\n"
      "rank 1: 1F0\n"
      "rank 2:",
      "test");
  ASSERT_EQ(lists.size(), 3u);
  EXPECT_EQ(lists[0], (ActionList{forward(0, 0), forward(0, 1), backward(0, 0),
                                  backward(0, 1), optimizer_step()}));
  EXPECT_EQ(to_text(lists),
            "rank 0: 0F0 0F1 0B0 0B1 STEP\nrank 1: 1F0\nrank 2: \n");
  EXPECT_EQ(parse_schedule(to_text(lists), "test"), lists);
}

TEST(Text, WrongSchedulesNameThePosition) {
  const auto error = [](std::string_view text) {
    return usage_error([&] { parse_schedule(text, "my.schedule"); });
  };
  EXPECT_THAT(error(""), HasSubstr("my.schedule: no ranks"));
  EXPECT_THAT(error("# only\n"), HasSubstr("my.schedule: no ranks"));
  EXPECT_EQ(error("\n 0F0"),
            "my.schedule: line 2, column 2: '0F0' stands before 'rank 0:'");
  EXPECT_THAT(error("rank 0: 0F0\nrank 1: 1F0 1Q0"),
              StartsWith("my.schedule: line 2, column 13: '1Q0' is no action"));
  EXPECT_EQ(error("rank 0: 0F0\n\nrank 2: 1F0"),
            "my.schedule: line 3, column 1: expected 'rank 1:', found 'rank "
            "2:'; ranks come in order, each once");
  EXPECT_THAT(error("rank 0: 0F0 rank"),
              StartsWith("my.schedule: line 1, column 13: expected 'rank 1:', "
                         "found 'rank'"));
}

TEST(Text, LocatesForErrors) {
  const ActionLists lists = {{}, {forward(1, 2)}};
  EXPECT_EQ(locate(lists, 1, 0), "rank 1, action 0 (1F2)");
  EXPECT_EQ(locate(lists, 1, 1), "rank 1, action 1 (the end)");
}

TEST(Text, DescribesForPeople) {
  EXPECT_EQ(describe(forward(1, 0)), "forward of stage 1");
  EXPECT_EQ(describe(send_gradient(2, 0, 1)),
            "send of gradients of stage 2 to stage 1");
  EXPECT_EQ(describe(receive_activation(2, 0, 1)),
            "receive of activations of stage 1 by stage 2");
  EXPECT_EQ(describe(optimizer_step()), "optimizer step");
}

}  // namespace
}  // namespace merak::schedule
