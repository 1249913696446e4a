#include "merak/data/batch_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "merak/data/test_support.h"

namespace merak::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<std::uint64_t>;

SamplerConfig config(std::uint64_t samples, std::uint64_t global,
                     std::uint64_t ranks, std::uint64_t micro) {
  SamplerConfig result;
  result.num_samples = samples;
  result.global_batch = global;
  result.data_ranks = ranks;
  result.micro_batch = micro;
  return result;
}

// A step's ids in the order of data ranks and micro-batches.
Ids step_ids(const BatchSampler& sampler, std::uint64_t step) {
  Ids all;
  for (std::uint64_t d = 0; d < sampler.config().data_ranks; ++d) {
    for (std::uint64_t i = 0; i < sampler.num_micro_batches(); ++i) {
      const Ids ids = sampler.sample_ids(step, d, i);
      all.insert(all.end(), ids.begin(), ids.end());
    }
  }
  return all;
}

TEST(BatchSampler, RanksTakeContiguousPartsMicroBatchesRuns) {
  const BatchSampler sampler(config(100, 12, 2, 3));
  EXPECT_EQ(sampler.num_micro_batches(), 2u);
  EXPECT_THAT(sampler.sample_ids(0, 0, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(sampler.sample_ids(0, 0, 1), ElementsAre(3, 4, 5));
  EXPECT_THAT(sampler.sample_ids(0, 1, 0), ElementsAre(6, 7, 8));
  EXPECT_THAT(sampler.sample_ids(2, 1, 1), ElementsAre(33, 34, 35));
}

TEST(BatchSampler, LayoutsSeeTheSameSteps) {
  SamplerConfig one = config(37, 24, 1, 24);
  one.shuffle = true;
  one.seed = 9;
  for (const std::uint64_t ranks : {1, 2, 3, 4}) {
    for (const std::uint64_t micro : {1, 2}) {
      SamplerConfig other = one;
      other.data_ranks = ranks;
      other.micro_batch = micro;
      for (std::uint64_t step = 0; step < 10; ++step) {
        EXPECT_EQ(step_ids(BatchSampler(other), step),
                  step_ids(BatchSampler(one), step));
      }
    }
  }
}

TEST(BatchSampler, EpochsFollowWithoutASeam) {
  const BatchSampler plain(config(5, 4, 1, 4));
  EXPECT_THAT(plain.sample_ids(1, 0, 0), ElementsAre(4, 0, 1, 2));
  EXPECT_THAT(BatchSampler(config(2, 5, 1, 5)).sample_ids(0, 0, 0),
              ElementsAre(0, 1, 0, 1, 0));
  SamplerConfig shuffled = config(35, 4, 1, 4);
  shuffled.shuffle = true;
  const BatchSampler sampler(shuffled);
  Ids order;
  for (std::uint64_t step = 0; step < 35; ++step) {
    const Ids ids = step_ids(sampler, step);
    order.insert(order.end(), ids.begin(), ids.end());
  }
  Ids first;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const auto begin = order.begin() + std::ptrdiff_t{35} * epoch;
    const Ids ids(begin, begin + 35);
    EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), 35u);
    EXPECT_NE(ids, first);
    first = ids;
  }
}

TEST(BatchSampler, OnePassIsFilledUp) {
  SamplerConfig evaluation = config(5, 4, 2, 2);
  evaluation.one_pass = true;
  const BatchSampler sampler(evaluation);
  EXPECT_EQ(sampler.steps_per_epoch(), 2u);
  EXPECT_THAT(step_ids(sampler, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(step_ids(sampler, 1),
              ElementsAre(4, kNoSample, kNoSample, kNoSample));
  EXPECT_EQ(BatchSampler(config(8, 4, 1, 4)).steps_per_epoch(), 2u);
}

TEST(BatchSampler, RefusesWhatDoesNotDivide) {
  EXPECT_THAT(error_of([] { BatchSampler(config(9, 10, 2, 3)); }),
              HasSubstr("train.global_batch_size is 10; it must be a multiple "
                        "of 6 (parallel.data 2 x train.micro_batch_size 3)"));
  error_of([] { BatchSampler(config(9, 0, 1, 1)); });
  error_of([] { BatchSampler(config(9, 4, 1, 0)); });
  error_of([] { BatchSampler(config(0, 4, 1, 1)); });
}

}  // namespace
}  // namespace merak::data
