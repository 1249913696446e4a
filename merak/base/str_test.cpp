#include "merak/base/str.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace merak {
namespace {

using ::testing::ElementsAre;

TEST(Str, JoinAndSplitAreInverse) {
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join(std::vector<std::string>{"a", "", "b"}, ", "), "a, , b");
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
}

TEST(Str, Trim) {
  EXPECT_EQ(trim(" a b\r\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
}

TEST(Str, HumanBytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes(1610612736), "1.5 GiB");
  EXPECT_EQ(human_bytes(1048575), "1.0 MiB");  // not "1024.0 KiB"
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(Str, ParseBytes) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("8GiB"), 8ull << 30);
  EXPECT_EQ(parse_bytes(" 8 gib "), 8ull << 30);
  EXPECT_EQ(parse_bytes("8G"), 8ull << 30);
  EXPECT_EQ(parse_bytes("8GB"), 8000000000u);
  EXPECT_EQ(parse_bytes("1.5k"), 1536u);
  EXPECT_EQ(parse_bytes("0"), 0u);
  for (const char* bad : {"", "GiB", "-1", "1 XB", "1GiBs", "8 Gi B", "nan",
                          "inf", "1e3000", "99999999999PiB"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Str, WhatIsPrintedParsesBack) {
  for (std::uint64_t bytes : {1ull, 1000ull, 1ull << 20, 3ull << 29}) {
    EXPECT_EQ(parse_bytes(human_bytes(bytes)), bytes);
  }
}

TEST(Str, HumanDuration) {
  EXPECT_EQ(human_duration(0.84), "0.8s");
  EXPECT_EQ(human_duration(9.96), "10s");
  EXPECT_EQ(human_duration(59.6), "1m00s");
  EXPECT_EQ(human_duration(187), "3m07s");
  EXPECT_EQ(human_duration(3600), "1h00m");
  EXPECT_EQ(human_duration(12 * 86400 + 3 * 3600), "12d03h");
  EXPECT_EQ(human_duration(-1), "?");
  EXPECT_EQ(human_duration(std::nan("")), "?");
}

TEST(Str, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("trian", "train"), 1u);  // a swap
  EXPECT_EQ(edit_distance("steps", "step"), edit_distance("step", "steps"));
}

TEST(Str, Nearest) {
  const std::vector<std::string> names = {"steps", "seed", "eval_every"};
  EXPECT_EQ(nearest("step", names), "steps");
  EXPECT_EQ(nearest("Eval-Every", names), "eval_every");
  EXPECT_EQ(nearest("temperature", names), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  // Equally near: the first, whatever follows.
  EXPECT_EQ(nearest("aab", std::vector<std::string>{"aaa", "aac"}), "aaa");
}

}  // namespace
}  // namespace merak
