#include "merak/data/unigram_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "merak/data/test_support.h"

namespace merak::data {
namespace {

TokenStream stream_of(const std::vector<std::int32_t>& tokens) {
  TokenStream stream;
  for (const std::int32_t token : tokens) stream.append_token(token);
  return stream;
}

TEST(UnigramEntropy, FollowsTheFormula) {
  const auto train = stream_of({0, 0, 0, 1});
  // (3 + 1) / (4 + 3), (1 + 1) / 7, (0 + 1) / 7.
  EXPECT_DOUBLE_EQ(unigram_entropy(train, stream_of({0}), 3),
                   -std::log(4.0 / 7));
  EXPECT_DOUBLE_EQ(
      unigram_entropy(train, stream_of({0, 1, 2, 2}), 3),
      -(std::log(4.0 / 7) + std::log(2.0 / 7) + 2 * std::log(1.0 / 7)) / 4);
}

TEST(UnigramEntropy, WithoutTrainingItIsUniform) {
  EXPECT_DOUBLE_EQ(unigram_entropy(stream_of({}), stream_of({1, 2, 9}), 50),
                   std::log(50));
}

TEST(UnigramEntropy, RefusesForeignTokensAndNothing) {
  EXPECT_THAT(
      error_of([] { unigram_entropy(stream_of({5}), stream_of({0}), 5); }),
      ::testing::HasSubstr("token 5"));
  error_of([] { unigram_entropy(stream_of({1}), stream_of({}), 5); });
}

}  // namespace
}  // namespace merak::data
