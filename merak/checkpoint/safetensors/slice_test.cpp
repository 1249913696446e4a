#include "merak/checkpoint/safetensors/slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "merak/checkpoint/safetensors/testing.h"

namespace merak::checkpoint {
namespace {

using testing::draw;
using testing::naive_box;
using testing::random_box;
using testing::random_bytes;
using testing::random_cuts;

TEST(Slice, CountsWithoutWrapping) {
  EXPECT_EQ(checked_numel({}), 1);
  EXPECT_EQ(checked_numel({3, 0, 5}), 0);
  EXPECT_EQ(checked_bytes({3, 5}, DType::kF64), 120);
  EXPECT_EQ(checked_numel({1LL << 32, 1LL << 32}), std::nullopt);
  EXPECT_EQ(checked_numel({2, -1}), std::nullopt);
  EXPECT_EQ(checked_numel({1LL << 62}), 1LL << 62);
  EXPECT_EQ(checked_bytes({1LL << 62}, DType::kF16), std::nullopt);
}

TEST(Slice, KnowsWhatIsInside) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(is_inside({{1, 0}, {2, 4}}, {3, 4}));
  EXPECT_TRUE(is_inside({{3, 4}, {0, 0}}, {3, 4}));
  EXPECT_TRUE(is_inside({{}, {}}, {}));
  EXPECT_FALSE(is_inside({{2, 0}, {2, 4}}, {3, 4}));
  EXPECT_FALSE(is_inside({{0}, {3}}, {3, 4}));
  EXPECT_FALSE(is_inside({{-1, 0}, {1, 1}}, {3, 4}));
  EXPECT_FALSE(is_inside({{1, 0}, {kMax, 1}}, {3, 4}));  // would wrap
}

TEST(Slice, CopiesWhatTwoBoxesShare) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Shape shape;
    for (std::int64_t d = draw(0, 4, random); d > 0; --d) {
      shape.push_back(draw(1, 5, random));
    }
    const std::size_t element = std::size_t{1} << draw(0, 3, random);
    const auto tensor =
        random_bytes(static_cast<std::size_t>(numel(shape)) * element, random);
    const Slice from = random_box(shape, random);
    const Slice to = random_box(shape, random);
    const auto source = naive_box(tensor, shape, from, element);
    const auto wanted = naive_box(tensor, shape, to, element);
    std::vector<std::byte> target(wanted.size(), std::byte{0xEE});
    const std::int64_t copied = copy_overlap(source, from, target, to, element);

    const auto shared = intersection(from, to);
    EXPECT_EQ(copied, shared ? numel(shared->extent) : 0);
    // Exactly the shared bytes were written, with the right values. (A byte
    // that happens to be 0xEE counts as written either way.)
    std::size_t touched = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (target[i] == std::byte{0xEE}) continue;
      EXPECT_EQ(target[i], wanted[i]);
      ++touched;
    }
    EXPECT_LE(touched, static_cast<std::size_t>(copied) * element);
    if (shared && *shared == to) {
      EXPECT_EQ(target, wanted);
    }
  }
}

TEST(Slice, PartsPutTogetherGiveTheWhole) {
  std::mt19937_64 random(2);
  const Shape shape = {7, 3, 5};
  const auto tensor = random_bytes(7 * 3 * 5 * 2, random);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> target(tensor.size());
    std::int64_t copied = 0;
    for (const Slice& part : random_cuts(shape, random)) {
      copied += copy_overlap(naive_box(tensor, shape, part, 2), part, target,
                             whole(shape), 2);
    }
    EXPECT_EQ(copied, numel(shape));
    EXPECT_EQ(target, tensor);
  }
}

TEST(Slice, FindsGapsAndOverlaps) {
  const Shape shape = {8, 4};
  const Slice top{{0, 0}, {4, 4}};
  const Slice left{{4, 0}, {4, 2}};
  const Slice right{{4, 2}, {4, 2}};
  EXPECT_EQ(coverage_problem(shape, std::vector{top, left, right}), "");
  EXPECT_EQ(coverage_problem(shape, std::vector{right, top}),
            "elements [4:8, 0:2] are missing");
  EXPECT_EQ(coverage_problem(shape, std::vector{left, right}),
            "elements [0:4, 0:4] are missing");
  EXPECT_EQ(coverage_problem(shape, std::vector{top, left, {{3, 1}, {5, 3}}}),
            "elements [3:4, 1:4] are held twice");
  EXPECT_EQ(coverage_problem(shape, {}), "elements [0:8, 0:4] are missing");
  EXPECT_EQ(coverage_problem({0, 4}, {}), "");
  EXPECT_EQ(coverage_problem({}, std::vector{Slice{}}), "");
  EXPECT_EQ(coverage_problem({}, {}), "elements [] are missing");
  EXPECT_EQ(coverage_problem({}, std::vector{Slice{}, Slice{}}),
            "elements [] are held twice");
}

TEST(Slice, EveryMissingPartIsNoticed) {
  std::mt19937_64 random(3);
  const Shape shape = {6, 5, 4};
  for (int round = 0; round < 100; ++round) {
    std::vector<Slice> parts = random_cuts(shape, random);
    std::erase_if(parts, [](const Slice& p) { return numel(p.extent) == 0; });
    std::shuffle(parts.begin(), parts.end(), random);
    EXPECT_EQ(coverage_problem(shape, parts), "");
    const Slice gone = parts.back();
    parts.pop_back();
    EXPECT_EQ(coverage_problem(shape, parts),
              "elements " + text(gone) + " are missing");
    parts.push_back(gone);
    parts.push_back(gone);
    EXPECT_EQ(coverage_problem(shape, parts),
              "elements " + text(gone) + " are held twice");
  }
}

}  // namespace
}  // namespace merak::checkpoint
