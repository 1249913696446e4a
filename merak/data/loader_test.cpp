#include "merak/data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "merak/data/test_support.h"

namespace merak::data {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::uint64_t>;

// A batch that holds the ids it was asked for.
class EchoDataset : public Dataset {
 public:
  std::uint64_t num_samples() const override { return 1000; }
  Batch make_batch(std::span<const std::uint64_t> ids) const override {
    ++calls;
    largest = std::max(largest.load(), ids.back());
    if (ids.front() == bad) fail_usage("sample {} is bad", bad);
    BatchTensor tensor{"ids", DType::kI64, {}, {}};
    tensor.bytes.resize(ids.size_bytes());
    std::memcpy(tensor.bytes.data(), ids.data(), ids.size_bytes());
    Batch batch;
    batch.tensors.push_back(std::move(tensor));
    return batch;
  }

  std::uint64_t bad = kNoSample;
  mutable std::atomic<int> calls = 0;
  mutable std::atomic<std::uint64_t> largest = 0;
};

Ids ids_of(const Batch& batch) {
  const auto& bytes = batch.tensors.at(0).bytes;
  Ids ids(bytes.size() / 8);
  std::memcpy(ids.data(), bytes.data(), bytes.size());
  return ids;
}

class LoaderTest : public ::testing::Test {
 protected:
  static BatchSampler sampler() {
    SamplerConfig config;
    config.num_samples = 1000;
    config.global_batch = 8;
    config.data_ranks = 2;
    config.micro_batch = 2;
    return BatchSampler(config);
  }

  std::shared_ptr<EchoDataset> dataset_ = std::make_shared<EchoDataset>();
};

TEST_F(LoaderTest, GivesWhatTheSamplerSaysInAnyOrder) {
  Loader loader(dataset_, sampler(), 1);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> asked = {
      {0, 0},  {0, 1},  {0, 0},          // twice
      {1, 1},  {1, 0},  {2, 0}, {3, 1},  // out of order, and left out
      {50, 0}, {50, 1}, {4, 1}, {4, 0},  // ahead and back
      {3, 0},  {4, 0},  {0, 1}};
  for (const auto& [step, micro_batch] : asked) {
    EXPECT_EQ(ids_of(*loader.next(step, micro_batch)),
              sampler().sample_ids(step, 1, micro_batch));
  }
}

TEST_F(LoaderTest, ABatchIsMadeOnceAndOutlivesItsStep) {
  std::shared_ptr<const Batch> kept;
  {
    Loader loader(dataset_, sampler(), 0, 0);
    kept = loader.next(0, 1);
    EXPECT_EQ(loader.next(0, 1), kept);
    EXPECT_EQ(loader.next(0, 0), loader.next(0, 0));
    EXPECT_EQ(dataset_->calls, 2);
    loader.next(7, 0);
  }
  EXPECT_EQ(ids_of(*kept), (Ids{2, 3}));
}

TEST_F(LoaderTest, RunsNoFurtherAheadThanAllowed) {
  for (const std::uint64_t ahead : {0, 1, 3}) {
    dataset_->largest = 0;
    {
      Loader loader(dataset_, sampler(), 1, ahead);
      for (std::uint64_t step = 0; step < 20; ++step) {
        loader.next(step, 1);
        EXPECT_LT(dataset_->largest, 8 * (step + ahead + 1));
      }
    }
  }
}

TEST_F(LoaderTest, ErrorsReachTheCallerOfThatBatchOnly) {
  dataset_->bad = 8 * 2 + 2;  // step 2, data rank 0, micro-batch 1
  Loader loader(dataset_, sampler(), 0, 4);
  loader.next(0, 0);
  loader.next(1, 1);
  EXPECT_EQ(ids_of(*loader.next(2, 0)), (Ids{16, 17}));
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(error_of([&] { loader.next(2, 1); }),
                HasSubstr("sample 18 is bad"));
  }
  EXPECT_EQ(ids_of(*loader.next(3, 0)), (Ids{24, 25}));
}

TEST_F(LoaderTest, MayEndAtAnyTime) {
  for (int round = 0; round < 200; ++round) {
    Loader loader(dataset_, sampler(), 0, 5);
    if (round % 2 == 0) loader.next(static_cast<std::uint64_t>(round), 0);
  }
}

}  // namespace
}  // namespace merak::data
