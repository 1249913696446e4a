#include "merak/data/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>

namespace merak::data {
namespace {

using Strings = std::vector<std::string>;

SplitStage stage(std::string_view pattern,
                 SplitBehavior behavior = SplitBehavior::kIsolated,
                 bool invert = false) {
  SplitStage result;
  result.pattern.emplace(pattern, Regex::Syntax::kOniguruma, "test");
  result.behavior = behavior;
  result.invert = invert;
  return result;
}

template <typename... Stages>
Strings words(std::string_view text, Stages... stages) {
  std::vector<SplitStage> list;
  (list.push_back(std::move(stages)), ...);
  const PreTokenizer pre_tokenizer(std::move(list));
  Strings result;
  pre_tokenizer.split(
      text, pre_tokenizer.make_scratch(),
      [&](std::string_view word) { result.emplace_back(word); });
  return result;
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_EQ(
      words("I'm  here, 12\n\n now ", stage(kGpt2Pattern)),
      (Strings{"I", "'m", " ", " here", ",", " 12", "\n\n", " now", " "}));
  EXPECT_EQ(words("", stage(kGpt2Pattern)), Strings{});
}

// Expected values: tokenizers.pre_tokenizers.Split 0.23.
TEST(PreTokenizer, BehavioursAsHuggingFace) {
  using B = SplitBehavior;
  const auto digits = [](B behavior, bool invert) {
    return words("12ab3c45", stage("[0-9]", behavior, invert));
  };
  EXPECT_EQ(digits(B::kRemoved, false), (Strings{"ab", "c"}));
  EXPECT_EQ(digits(B::kRemoved, true), (Strings{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(digits(B::kIsolated, true),
            (Strings{"1", "2", "ab", "3", "c", "4", "5"}));
  EXPECT_EQ(digits(B::kMergedWithPrevious, false),
            (Strings{"1", "2", "ab3", "c4", "5"}));
  EXPECT_EQ(digits(B::kMergedWithPrevious, true),
            (Strings{"1", "2ab", "3c", "4", "5"}));
  EXPECT_EQ(digits(B::kMergedWithNext, false),
            (Strings{"1", "2ab", "3c", "4", "5"}));
  EXPECT_EQ(digits(B::kMergedWithNext, true),
            (Strings{"1", "2", "ab3", "c4", "5"}));
  EXPECT_EQ(digits(B::kContiguous, false),
            (Strings{"12", "ab", "3", "c", "45"}));
}

TEST(PreTokenizer, StagesWorkOnThePiecesOfTheOneBefore) {
  EXPECT_EQ(words("a1b22", stage("[0-9]"), stage("b")),
            (Strings{"a", "1", "b", "2", "2"}));
}

TEST(PreTokenizer, PrefixSpaceIsAddedToEveryPieceWithoutOne) {
  SplitStage prefix;
  prefix.add_prefix_space = true;
  EXPECT_EQ(words("a1 b", stage("1"), std::move(prefix)),
            (Strings{" a", " 1", " b"}));
}

TEST(PreTokenizer, EmptyMatchesEndSegmentsToo) {
  EXPECT_EQ(words("a\u00e9xxb", stage("x*")),
            (Strings{"a", "\u00e9", "xx", "b"}));
}

}  // namespace
}  // namespace merak::data
