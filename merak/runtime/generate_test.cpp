#include "merak/runtime/generate.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/models/model.h"

namespace merak::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kVocabulary = 16;

// Says how many tokens it was shown.
class Counter : public models::Model {
 public:
  trace::NamedTensors forward(const trace::NamedTensors& inputs) override {
    const std::int64_t length =
        models::input_named(inputs, "input_ids").size(1);
    at::Tensor logits = at::zeros({1, length, kVocabulary});
    logits.select(1, -1).select(1, length).fill_(1.0);
    return {{"logits", logits}};
  }
};

std::vector<std::int32_t> counted(std::int64_t max_sequence_length,
                                  std::int32_t end_of_text = -1) {
  Counter model;
  models::ModelSpec spec;
  spec.vocabulary_size = kVocabulary;
  spec.max_sequence_length = max_sequence_length;
  return generate(model, spec, {7, 7}, {.max_new_tokens = 4, .temperature = 0},
                  end_of_text);
}

TEST(Generate, ShowsTheModelWhatItHasPositionsFor) {
  EXPECT_THAT(counted(3), ElementsAre(2, 3, 3, 3));
  EXPECT_THAT(counted(1), ElementsAre(1, 1, 1, 1));
}

TEST(Generate, AModelWithoutALimitSeesAllText) {
  EXPECT_THAT(counted(0), ElementsAre(2, 3, 4, 5));
}

TEST(Generate, StopsAtTheEndOfText) {
  EXPECT_THAT(counted(0, 4), ElementsAre(2, 3));
}

}  // namespace
}  // namespace merak::runtime
