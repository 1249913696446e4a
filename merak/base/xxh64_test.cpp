#include "merak/base/xxh64.h"

#include <gtest/gtest.h>

#include <string>

namespace merak {
namespace {

// Values of the reference implementation (xxHash 0.8).
TEST(Xxh64, GivesTheReferenceValues) {
  EXPECT_EQ(xxh64(""), 0xEF46DB3751D8E999);
  EXPECT_EQ(xxh64("a"), 0xD24EC4F1A98C6E5B);
  EXPECT_EQ(xxh64("abc"), 0x44BC2CF5AD770999);
  EXPECT_EQ(xxh64("Nobody inspects the spammish repetition"),
            0xFBCEA83C8A378BF1);
}

TEST(Xxh64, DependsOnEveryByteAndOnTheSeed) {
  const std::string text(100, 'x');
  const auto whole = xxh64(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = 'y';
    EXPECT_NE(xxh64(changed), whole) << i;
    EXPECT_NE(xxh64(text.substr(0, i)), whole) << i;
  }
  EXPECT_NE(xxh64(text, 1), whole);
}

}  // namespace
}  // namespace merak
