#include "merak/data/tokenizer/oniguruma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "merak/data/test_support.h"
#include "merak/data/tokenizer/regex.h"

namespace merak::data {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> matches(std::string_view pattern,
                                 std::string_view text) {
  const Regex regex(pattern, Regex::Syntax::kOniguruma, "t.json: pattern");
  const RegexMatcher matcher(regex);
  std::vector<std::string> found;
  std::size_t from = 0;
  while (const auto match = matcher.find(text, from)) {
    found.emplace_back(text.substr(match->begin, match->end - match->begin));
    from = match->end;
  }
  return found;
}

using Strings = std::vector<std::string>;

// U+180E was white space until Unicode 6.3; PCRE2 still counts it.
TEST(Oniguruma, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(matches(R"(\s+)", "a\u180eb\u0085\u3000c"),
            Strings{"\u0085\u3000"});
  EXPECT_EQ(matches(R"([^\s]+)", "a\u180eb c"), (Strings{"a\u180eb", "c"}));
  EXPECT_EQ(matches(R"(\S+)", "a\u180eb c"), (Strings{"a\u180eb", "c"}));
  EXPECT_EQ(matches(R"([\s\S])", "a\u180e\n").size(), 3u);
}

TEST(Oniguruma, WordsTakeMarksAndConnectors) {
  EXPECT_EQ(matches(R"(\w+)", "e\u0301x_y\u203fz-1"),
            (Strings{"e\u0301x_y\u203fz", "1"}));
  EXPECT_EQ(matches(R"(\W+)", "a-\u0301b"), Strings{"-"});
}

TEST(Oniguruma, HexDigitsAndCodePoints) {
  EXPECT_EQ(matches(R"(\h+)", "xyz12aF g"), Strings{"12aF"});
  EXPECT_EQ(matches(R"([\h]+|\H)", "1 "), (Strings{"1", " "}));
  EXPECT_EQ(matches(R"(\u00e9+)", "e\u00e9\u00e9"), Strings{"\u00e9\u00e9"});
}

TEST(Oniguruma, RepeatedIntervalsAreNotPossessive) {
  EXPECT_EQ(matches(R"(\p{N}{1,3}+)", "1234567"), Strings{"1234567"});
  EXPECT_EQ(matches(R"(\p{N}{1,3})", "1234567"), (Strings{"123", "456", "7"}));
  // A brace that belongs to a property is no interval.
  EXPECT_EQ(matches(R"(\p{L}+\d)", "ab1"), Strings{"ab1"});
}

TEST(Oniguruma, RefusesWhatItCannotKeep) {
  const auto refusal = [](const std::string& pattern) {
    return error_of([&] { pcre2_from_oniguruma(pattern, "t.json: pattern"); });
  };
  EXPECT_THAT(refusal("[a[bc]]"), HasSubstr("class inside a class"));
  EXPECT_THAT(refusal(R"([\p{L}&&[^a]])"), HasSubstr("intersection"));
  EXPECT_THAT(refusal("(?m:a.b)"), HasSubstr("flag m"));
  EXPECT_THAT(refusal("(?i-m)a"), HasSubstr("flag m"));
  EXPECT_THAT(refusal("a{2,3}+"), HasSubstr("repeated interval"));
  EXPECT_THAT(refusal(R"([^\S\n])"), HasSubstr("negated shorthand"));
  EXPECT_THAT(refusal(R"(\bword)"), HasSubstr("word boundary"));
  EXPECT_THAT(refusal("\\"), HasSubstr("lone backslash"));
  EXPECT_THAT(refusal(R"(\u12)"), HasSubstr("four digits"));
}

TEST(Oniguruma, BadPatternsNameFileAndField) {
  for (const char* pattern :
       {"(", "[a", "a**b(", R"(\p{Nonsense})", R"(\p{)", "[[:alpha", "(?<x"}) {
    const std::string message = error_of(
        [&] { Regex(pattern, Regex::Syntax::kOniguruma, "t.json: pattern"); });
    EXPECT_THAT(message, HasSubstr("t.json: pattern")) << pattern;
  }
}

TEST(Regex, LiteralPatternsHaveNoOperators) {
  const Regex regex("a.b", Regex::Syntax::kLiteral, "t");
  const RegexMatcher matcher(regex);
  EXPECT_FALSE(matcher.find("axb", 0));
  EXPECT_TRUE(matcher.find("xa.b", 0));
}

// Each '(..)+' turn needs JIT stack; the interpreter takes over.
TEST(Regex, LongMatchesDoNotExhaustTheStack) {
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(matches("(?:a|b)+c|a+", text), Strings{text});
}

}  // namespace
}  // namespace merak::data
