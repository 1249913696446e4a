#include "merak/partition/assign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "merak/base/error.h"

namespace merak::partition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> sizes(const std::vector<int>& firsts, int shards) {
  std::vector<int> out;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const int end = i + 1 < firsts.size() ? firsts[i + 1] : shards;
    out.push_back(end - firsts[i]);
  }
  return out;
}

double greatest_sum(const std::vector<double>& costs,
                    const std::vector<int>& firsts) {
  double greatest = 0;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const auto end = i + 1 < firsts.size()
                         ? static_cast<std::size_t>(firsts[i + 1])
                         : costs.size();
    double sum = 0;
    for (auto k = static_cast<std::size_t>(firsts[i]); k < end; ++k) {
      sum += costs[k];
    }
    greatest = std::max(greatest, sum);
  }
  return greatest;
}

// All ways to choose the first shards of the stages.
void for_each_assignment(int shards, std::vector<int>& firsts, int stages,
                         const std::function<void()>& f) {
  if (static_cast<int>(firsts.size()) == stages) return f();
  for (int next = firsts.back() + 1; next < shards; ++next) {
    firsts.push_back(next);
    for_each_assignment(shards, firsts, stages, f);
    firsts.pop_back();
  }
}

TEST(Uniform, AsTheReferenceHasIt) {
  EXPECT_THAT(assign_uniform(10, 4), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(assign_uniform_floor(10, 4), ElementsAre(0, 2, 5, 8));
  EXPECT_THAT(assign_uniform(5, 4), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(assign_uniform_floor(5, 4), ElementsAre(0, 1, 3, 4));
}

TEST(Uniform, EveryStageHasAShardForAllSizes) {
  for (int shards = 1; shards <= 60; ++shards) {
    for (int stages = 1; stages <= shards; ++stages) {
      const int ceiling = (shards + stages - 1) / stages;
      for (int size : sizes(assign_uniform(shards, stages), shards)) {
        ASSERT_GE(size, 1) << shards << " over " << stages;
        ASSERT_LE(size, ceiling) << shards << " over " << stages;
      }
      const auto floor_sizes =
          sizes(assign_uniform_floor(shards, stages), shards);
      ASSERT_EQ(floor_sizes[0], shards / stages);
      for (int size : floor_sizes) {
        ASSERT_GE(size, shards / stages) << shards << " over " << stages;
        ASSERT_LE(size, ceiling) << shards << " over " << stages;
      }
    }
  }
}

TEST(Balanced, IsOptimal) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> cost(0, 9);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> costs(1 + random() % 9);
    for (double& one : costs) one = cost(random);
    const auto shards = static_cast<int>(costs.size());
    for (int stages = 1; stages <= shards; ++stages) {
      double best = 1e9;
      std::vector<int> firsts{0};
      for_each_assignment(shards, firsts, stages, [&] {
        best = std::min(best, greatest_sum(costs, firsts));
      });
      const std::vector<int> found = assign_balanced(costs, stages);
      ASSERT_EQ(greatest_sum(costs, found), best);
      for (int size : sizes(found, shards)) ASSERT_GE(size, 1);
    }
  }
}

TEST(Balanced, EvensOutTheRest) {
  // The head alone is the bottleneck; the others must not pile up to it.
  EXPECT_THAT(assign_balanced(std::vector<double>{1, 1, 1, 1, 1, 1, 6}, 4),
              ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(assign_balanced(std::vector<double>{0, 0, 0}, 3),
              ElementsAre(0, 1, 2));
}

std::string custom_failure(const std::vector<int>& firsts, int shards,
                           int stages) {
  try {
    assign_custom(firsts, shards, stages);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Custom, IsChecked) {
  EXPECT_EQ(custom_failure({0, 2, 7}, 8, 3), "");
  EXPECT_THAT(custom_failure({0, 2}, 8, 3),
              HasSubstr("2 entries for 3 stages"));
  EXPECT_THAT(custom_failure({}, 8, 3), HasSubstr("0 entries for 3 stages"));
  EXPECT_THAT(custom_failure({1, 2, 3}, 8, 3), HasSubstr("must start with 0"));
  EXPECT_THAT(custom_failure({0, 3, 3}, 8, 3), HasSubstr("but 3 follows 3"));
  EXPECT_THAT(custom_failure({0, 3, 8}, 8, 3), HasSubstr("at most 7"));
}

TEST(Assign, MoreStagesThanShardsIsOurBug) {
  EXPECT_THROW(assign_uniform(2, 3), Error);
  EXPECT_THROW(assign_balanced(std::vector<double>{1.0}, 2), Error);
}

}  // namespace
}  // namespace merak::partition
