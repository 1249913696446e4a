#include "merak/data/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include <set>

namespace merak::data {
namespace {

using namespace std::string_literals;

TEST(Utf8, EveryCodePointRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x11000 ? 1 : 257) {
    std::string text;
    append_utf8(text, c);
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    ASSERT_EQ(is_valid_utf8(text), !surrogate) << static_cast<unsigned>(c);
    if (surrogate) continue;
    const Utf8Character character = utf8_character(text, 0);
    ASSERT_EQ(character.code_point, c);
    ASSERT_EQ(character.length, text.size());
  }
}

// Expected strings: Python's bytes.decode("utf-8", errors="replace").
TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("a\xFF"
                                 "b"),
            "a" + r + "b");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), r + r);
  EXPECT_EQ(replace_invalid_utf8("\xE2\x82"), r);
  EXPECT_EQ(replace_invalid_utf8("\xE2\xE2\x82\x82"), r + "\xE2\x82\x82");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), r);
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xC3("), r + "(");
  EXPECT_EQ(replace_invalid_utf8("\0x"s), "\0x"s);
}

TEST(Utf8, ByteAlphabetIsOneToOne) {
  std::set<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    const auto spelling = spelling_of_byte(static_cast<unsigned char>(byte));
    EXPECT_TRUE(is_valid_utf8(spelling));
    EXPECT_TRUE(spellings.insert(spelling).second);
    EXPECT_EQ(bytes_of_spelling(spelling),
              std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(spelling_of_byte(' '), "\u0120");
  EXPECT_EQ(spelling_of_byte('\n'), "\u010A");
  EXPECT_EQ(bytes_of_spelling("\u0120the"), " the");
  EXPECT_EQ(bytes_of_spelling(" the"), std::nullopt);
  EXPECT_EQ(bytes_of_spelling("\uFF5C"), std::nullopt);
  EXPECT_EQ(bytes_of_spelling("\xFF"), std::nullopt);
}

}  // namespace
}  // namespace merak::data
