#include "merak/config/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/config/testing.h"

namespace merak::config {
namespace {

using ::testing::HasSubstr;

Config with(AutoInt data, AutoInt tensor, AutoInt pipeline,
            std::int64_t batch = 16) {
  Config config;
  config.parallel.data = data;
  config.parallel.tensor = tensor;
  config.parallel.pipeline = pipeline;
  config.train.global_batch_size = batch;
  return config;
}

TEST(Layout, RanksLeftOverGoToData) {
  EXPECT_EQ(resolve_layout(with({}, {}, {}), 6), (Layout{6, 1, 1}));
  EXPECT_EQ(resolve_layout(with({}, {}, 3), 6), (Layout{2, 1, 3}));
  EXPECT_EQ(resolve_layout(with({}, 1, 2), 2), (Layout{1, 1, 2}));
  EXPECT_EQ(resolve_layout(with(2, 1, 3), 6), (Layout{2, 1, 3}));
}

TEST(Layout, ThenToThePipeline) {
  EXPECT_EQ(resolve_layout(with(2, {}, {}), 6), (Layout{2, 1, 3}));
}

TEST(Layout, TheProductIsAlwaysTheWorld) {
  for (std::int64_t world = 1; world <= 12; ++world) {
    for (std::int64_t pipeline = 1; pipeline <= world; ++pipeline) {
      if (world % pipeline != 0) continue;
      const Layout layout = resolve_layout(with({}, {}, pipeline), world);
      EXPECT_EQ(layout.world(), world);
      EXPECT_EQ(layout.pipeline, pipeline);
    }
  }
}

TEST(Layout, DegreesThatDoNotFitShowTheArithmetic) {
  EXPECT_EQ(usage_error([] { resolve_layout(with({}, 1, 4), 6); }),
            "parallel: data x tensor x pipeline = auto x 1 x 4 does not fit 6 "
            "ranks: 6 is not a multiple of 4; 4 or 8 ranks would work");
  EXPECT_THAT(usage_error([] { resolve_layout(with({}, 1, 4), 3); }),
              HasSubstr("; 4 ranks would work"));
  EXPECT_THAT(usage_error([] { resolve_layout(with(2, 1, 2), 8); }),
              HasSubstr("the product is 4; run on 4 ranks"));
  EXPECT_THAT(usage_error([] { resolve_layout(with(2, {}, 2), 8); }),
              HasSubstr("not supported yet"));
}

TEST(Layout, BatchesOfNumbers) {
  Config config = with({}, {}, {});
  config.train.micro_batch_size = 2;
  const Batch batch = resolve_batch(config, {2, 1, 1});
  EXPECT_EQ(batch.micro_batch_size, 2);
  EXPECT_EQ(batch.micro_batches, 4);
  EXPECT_THAT(usage_error([&] { resolve_batch(config, {3, 1, 1}); }),
              HasSubstr("15 or 18 would work"));
  config.train.micro_batch_size = 5;
  EXPECT_THAT(usage_error([&] { resolve_batch(config, {2, 1, 1}); }),
              HasSubstr("16 / 2 = 8, must be a multiple of it: 8 would work"));
}

TEST(Layout, AutoMicroBatches) {
  const auto size = [](std::int64_t batch, Layout layout) {
    return resolve_batch(with({}, {}, {}, batch), layout).micro_batch_size;
  };
  EXPECT_EQ(size(16, {1, 1, 1}), 8);
  EXPECT_EQ(size(16, {1, 1, 2}), 2);
  EXPECT_EQ(size(4, {1, 1, 2}), 1);
  EXPECT_EQ(size(7, {1, 1, 1}), 7);
  EXPECT_EQ(size(17, {1, 1, 1}), 1);
  for (std::int64_t batch = 1; batch <= 64; ++batch) {
    const Batch b = resolve_batch(with({}, {}, {}, batch), {1, 1, 3});
    EXPECT_EQ(b.micro_batch_size * b.micro_batches, batch);
  }
}

TEST(Layout, DefaultWorlds) {
  EXPECT_EQ(default_world(with(2, 1, 3), 1), 6);  // the product
  EXPECT_EQ(default_world(with({}, {}, {}), 4), 4);
  EXPECT_EQ(default_world(with({}, {}, 2), 5), 4);
  EXPECT_EQ(default_world(with({}, {}, 4), 2), 4);   // more ranks than cores
  EXPECT_EQ(default_world(with({}, {}, {}), 3), 2);  // 16 is no multiple of 3
  EXPECT_EQ(default_world(with({}, {}, {}, 1), 8), 1);
}

TEST(Layout, ResolvedHoldsNumbers) {
  const Config config = resolved(with({}, {}, 2), {2, 1, 2});
  EXPECT_EQ(config.parallel.data, AutoInt(2));
  EXPECT_EQ(config.parallel.tensor, AutoInt(1));
  EXPECT_EQ(config.train.micro_batch_size, AutoInt(1));
  EXPECT_EQ(resolve_layout(config, 4), (Layout{2, 1, 2}));
}

}  // namespace
}  // namespace merak::config
