#include "merak/data/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace merak::data {
namespace {

std::vector<std::uint64_t> order(std::uint64_t size, std::uint64_t seed,
                                 std::uint64_t epoch) {
  const Permutation permutation(size, seed, epoch);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < size; ++i) places.push_back(permutation(i));
  return places;
}

TEST(Permutation, EachPlaceOnceForEverySize) {
  for (std::uint64_t size = 1; size <= 1100; ++size) {
    const auto places = order(size, 7, size);
    const std::set<std::uint64_t> distinct(places.begin(), places.end());
    ASSERT_EQ(distinct.size(), size);
    ASSERT_EQ(*distinct.rbegin(), size - 1);
  }
}

// Resumed runs rely on it: the same numbers for ever.
TEST(Permutation, IsFixed) {
  EXPECT_EQ(order(10, 1234, 0),
            (std::vector<std::uint64_t>{2, 9, 1, 5, 6, 3, 8, 4, 0, 7}));
  EXPECT_EQ(Permutation(1'000'000'000'000, 1234, 3)(123'456'789),
            164'009'521'486u);
}

TEST(Permutation, SeedAndEpochChangeIt) {
  const auto first = order(1000, 1, 0);
  EXPECT_NE(order(1000, 2, 0), first);
  EXPECT_NE(order(1000, 1, 1), first);
  EXPECT_NE(order(1000, 1, 1), order(1000, 2, 0));
  EXPECT_NE(order(1000, 0, 1), first);  // the two are not interchangeable
}

// Chi-squared over (first half of places) x (first half of values), many seeds:
// a shuffle keeps about half of the first half there.
TEST(Permutation, HalvesMix) {
  const std::uint64_t size = 1000;
  double sum = 0, squares = 0;
  const int seeds = 400;
  for (int seed = 0; seed < seeds; ++seed) {
    const Permutation permutation(size, static_cast<std::uint64_t>(seed), 0);
    int kept = 0;
    for (std::uint64_t i = 0; i < size / 2; ++i) {
      kept += permutation(i) < size / 2;
    }
    sum += kept;
    squares += (kept - 250.0) * (kept - 250.0);
  }
  // Hypergeometric: mean 250, variance 62.6; four standard errors.
  EXPECT_NEAR(sum / seeds, 250, 4 * std::sqrt(62.6 / seeds));
  EXPECT_NEAR(squares / seeds, 62.6, 4 * 62.6 * std::sqrt(2.0 / seeds));
}

// Neighbours in the order are not neighbours in the data.
TEST(Permutation, NeighboursScatter) {
  const auto places = order(4099, 5, 0);
  int close = 0;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const auto a = static_cast<std::int64_t>(places[i - 1]);
    const auto b = static_cast<std::int64_t>(places[i]);
    close += std::abs(a - b) <= 2;
  }
  EXPECT_LT(close, 16);  // about 4 expected
}

TEST(Permutation, HugeSizesStayInside) {
  for (const std::uint64_t size :
       {(std::uint64_t{1} << 62), (std::uint64_t{1} << 61) + 1}) {
    const Permutation permutation(size, 3, 9);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const auto place = permutation(size - 1 - i);
      EXPECT_LT(place, size);
      seen.insert(place);
    }
    EXPECT_EQ(seen.size(), 1000u);
  }
}

}  // namespace
}  // namespace merak::data
