#include "merak/data/tokenizer/added_tokens.h"

#include <gtest/gtest.h>

#include <utility>

namespace merak::data {
namespace {

using Parts = std::vector<std::pair<int, std::string>>;

AddedToken token(int id, std::string content) {
  AddedToken result;
  result.id = id;
  result.content = std::move(content);
  return result;
}

Parts split(const std::vector<AddedToken>& tokens, std::string_view text) {
  Parts parts;
  AddedTokens(tokens).split(text, [&](std::int32_t id, std::string_view part) {
    parts.emplace_back(id, part);
  });
  return parts;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const std::vector<AddedToken> tokens = {token(1, "ab"), token(2, "abc"),
                                          token(3, "bcd")};
  EXPECT_EQ(split(tokens, "xabcdab"),
            (Parts{{-1, "x"}, {2, "abc"}, {-1, "d"}, {1, "ab"}}));
  EXPECT_EQ(split(tokens, "a"), (Parts{{-1, "a"}}));
  EXPECT_EQ(split(tokens, ""), Parts{});
  EXPECT_EQ(split({}, "abc"), (Parts{{-1, "abc"}}));
}

TEST(AddedTokens, StripsUnicodeWhiteSpaceWhereAsked) {
  AddedToken mask = token(7, "<m>");
  mask.lstrip = mask.rstrip = true;
  EXPECT_EQ(split({mask}, "a \u3000<m>\n b"),
            (Parts{{-1, "a"}, {7, " \u3000<m>\n "}, {-1, "b"}}));
  EXPECT_EQ(split({mask}, "<m> <m>"), (Parts{{7, "<m> "}, {7, "<m>"}}));
}

TEST(AddedTokens, SingleWordNeedsBoundaries) {
  AddedToken word = token(5, "it");
  word.single_word = true;
  EXPECT_EQ(split({word}, "it"), (Parts{{5, "it"}}));
  EXPECT_EQ(split({word}, "bit it, its \u00e9it"),
            (Parts{{-1, "bit "}, {5, "it"}, {-1, ", its \u00e9it"}}));
}

TEST(AddedTokens, NormalizedOnesComeSecond) {
  AddedToken late = token(1, "abc");
  late.normalized = true;
  EXPECT_EQ(split({late, token(2, "bc")}, "abc abc"),
            (Parts{{-1, "a"}, {2, "bc"}, {-1, " a"}, {2, "bc"}}));
}

}  // namespace
}  // namespace merak::data
