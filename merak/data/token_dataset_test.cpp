#include "merak/data/token_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "merak/data/batch_sampler.h"
#include "merak/data/test_support.h"

namespace merak::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int64_t>;

// Tokens 0, 1, 2, ...
TokenStream counting(std::size_t size) {
  auto tokens = std::make_shared<std::vector<std::int32_t>>(size);
  std::iota(tokens->begin(), tokens->end(), 0);
  const TokenArray array{TokenType::kI32,
                         reinterpret_cast<const char*>(tokens->data()), size};
  TokenStream stream;
  stream.append_file("counting", tokens, {&array, 1});
  return stream;
}

Tokens values(const Batch& batch, const char* name) {
  const BatchTensor* tensor = batch.find(name);
  EXPECT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, DType::kI64);
  Tokens result(tensor->bytes.size() / 8);
  std::memcpy(result.data(), tensor->bytes.data(), tensor->bytes.size());
  return result;
}

TEST(TokenDataset, CountsSamples) {
  for (std::size_t tokens = 2; tokens < 30; ++tokens) {
    for (std::int64_t length = 1; length < 6; ++length) {
      const auto whole = (tokens - 1) / static_cast<std::size_t>(length);
      const bool uneven = (tokens - 1) % static_cast<std::size_t>(length) != 0;
      if (whole > 0) {
        EXPECT_EQ(TokenDataset(counting(tokens), length, Tail::kDrop, "d")
                      .num_samples(),
                  whole);
      }
      EXPECT_EQ(
          TokenDataset(counting(tokens), length, Tail::kPad, "d").num_samples(),
          whole + uneven);
    }
  }
}

TEST(TokenDataset, SamplesOverlapByOne) {
  const TokenDataset dataset(counting(11), 3, Tail::kPad, "d");
  EXPECT_THAT(dataset.sample(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(dataset.sample(1), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(dataset.sample(3), ElementsAre(9, 10));
}

// Every token but the first is a label exactly once.
TEST(TokenDataset, APaddedPassPredictsEveryTokenOnce) {
  for (std::size_t size = 2; size < 20; ++size) {
    const TokenDataset dataset(counting(size), 4, Tail::kPad, "d");
    Tokens predicted;
    for (std::uint64_t id = 0; id < dataset.num_samples(); ++id) {
      const std::vector<std::uint64_t> ids = {id};
      for (const auto label : values(dataset.make_batch(ids), "labels")) {
        if (label != kIgnoredLabel) predicted.push_back(label);
      }
    }
    Tokens expected(size - 1);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(predicted, expected);
  }
}

TEST(TokenDataset, BatchesAreNamedTensors) {
  const TokenDataset dataset(counting(9), 3, Tail::kPad, "d");
  const std::vector<std::uint64_t> ids = {2, kNoSample, 0};
  const Batch batch = dataset.make_batch(ids);
  ASSERT_EQ(batch.tensors.size(), 2u);
  EXPECT_THAT(batch.tensors[0].shape, ElementsAre(3, 3));
  EXPECT_THAT(batch.tensors[1].shape, ElementsAre(3, 3));
  EXPECT_THAT(values(batch, "input_ids"),
              ElementsAre(6, 7, 0, 0, 0, 0, 0, 1, 2));
  EXPECT_THAT(values(batch, "labels"),
              ElementsAre(7, 8, -100, -100, -100, -100, 1, 2, 3));
  EXPECT_EQ(batch.find("nothing"), nullptr);
}

TEST(TokenDataset, TooShortIsSaidWithNumbers) {
  EXPECT_THAT(error_of([] {
                TokenDataset(counting(256), 256, Tail::kDrop, "data.train");
              }),
              HasSubstr("data.train holds 256 tokens; one sample with "
                        "data.sequence_length 256 needs 257"));
  error_of([] { TokenDataset(counting(1), 4, Tail::kPad, "v"); });
  error_of([] { TokenDataset(counting(0), 4, Tail::kPad, "v"); });
  EXPECT_THAT(error_of([] { TokenDataset(counting(9), 0, Tail::kDrop, "v"); }),
              HasSubstr("data.sequence_length is 0"));
}

}  // namespace
}  // namespace merak::data
