// Shards to stages. Every method gives the first shard of each stage: element 0
// is 0, they increase strictly, so every stage has a shard. All need
// 1 <= stages <= shards.
#pragma once

#include <span>
#include <vector>

namespace merak::partition {

// ceil(shards / stages) shards a stage as long as they last, leaving at least
// one for each stage behind. 10 over 4: 0, 3, 6, 9.
std::vector<int> assign_uniform(int shards, int stages);

// floor(shards / stages) for stage 0, the remainder one each to stages 1, 2, ..
// 10 over 4: 0, 2, 5, 8.
std::vector<int> assign_uniform_floor(int shards, int stages);

// Consecutive ranges whose greatest sum is the least possible; among those, the
// least sum of squares, so that the other stages are even too. Costs are not
// negative. Exact; O(stages n log n + n^2 / stages) for n shards of like size.
std::vector<int> assign_balanced(std::span<const double> costs, int stages);

// The user's own. Usage error if it has not one entry a stage, does not start
// at 0, does not increase, or names a shard that does not exist.
std::vector<int> assign_custom(const std::vector<int>& first_shards, int shards,
                               int stages);

}  // namespace merak::partition
