#include "merak/partition/assign.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "merak/base/error.h"

namespace merak::partition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t index(int i) { return static_cast<std::size_t>(i); }

void check_sizes(int shards, int stages) {
  MERAK_CHECK(stages >= 1 && stages <= shards, "{} stages of {} shards", stages,
              shards);
}

std::vector<double> prefix_sums(std::span<const double> costs) {
  std::vector<double> sums{0.0};
  for (double cost : costs) sums.push_back(sums.back() + cost);
  return sums;
}

// The least possible greatest sum. best[i]: for the first i shards in as many
// stages as rounds were made. Over the last cut j, best[j] rises and the last
// range's sum falls, so the best cut lies where they cross.
double least_maximum(const std::vector<double>& sums, int stages) {
  const int n = static_cast<int>(sums.size()) - 1;
  std::vector<double> best = sums;
  for (int stage = 2; stage <= stages; ++stage) {
    std::vector<double> next(best.size(), kInfinity);
    for (int i = stage; i <= n; ++i) {
      int low = stage - 1;
      int high = i - 1;
      while (low < high) {
        const int j = (low + high) / 2;
        if (best[index(j)] >= sums[index(i)] - sums[index(j)]) {
          high = j;
        } else {
          low = j + 1;
        }
      }
      auto greatest = [&](int j) {
        return std::max(best[index(j)], sums[index(i)] - sums[index(j)]);
      };
      next[index(i)] = greatest(low);
      if (low > stage - 1) {
        next[index(i)] = std::min(next[index(i)], greatest(low - 1));
      }
    }
    best = std::move(next);
  }
  return best.back();
}

}  // namespace

std::vector<int> assign_uniform(int shards, int stages) {
  check_sizes(shards, stages);
  const int each = (shards + stages - 1) / stages;
  std::vector<int> firsts;
  for (int stage = 0; stage < stages; ++stage) {
    firsts.push_back(std::min(each * stage, shards - (stages - stage)));
  }
  return firsts;
}

std::vector<int> assign_uniform_floor(int shards, int stages) {
  check_sizes(shards, stages);
  const int each = shards / stages;
  const int rest = shards % stages;
  std::vector<int> firsts;
  for (int stage = 0; stage < stages; ++stage) {
    firsts.push_back(each * stage + std::clamp(stage - 1, 0, rest));
  }
  return firsts;
}

std::vector<int> assign_balanced(std::span<const double> costs, int stages) {
  const int n = static_cast<int>(costs.size());
  check_sizes(n, stages);
  const std::vector<double> sums = prefix_sums(costs);
  const double limit = least_maximum(sums, stages);
  // squares[i]: least sum of squares of the first i shards in the stages so
  // far, none above the limit; cut[s][i]: where the last of them begins.
  std::vector<double> squares(sums.size(), kInfinity);
  squares[0] = 0;
  std::vector<std::vector<int>> cut(index(stages),
                                    std::vector<int>(sums.size(), -1));
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<double> next(sums.size(), kInfinity);
    for (int i = stage + 1; i <= n; ++i) {
      for (int j = i - 1; j >= stage; --j) {
        const double sum = sums[index(i)] - sums[index(j)];
        if (sum > limit) break;
        const double total = squares[index(j)] + sum * sum;
        if (total >= next[index(i)]) continue;
        next[index(i)] = total;
        cut[index(stage)][index(i)] = j;
      }
    }
    squares = std::move(next);
  }
  std::vector<int> firsts(index(stages));
  for (int stage = stages - 1, end = n; stage >= 0; --stage) {
    end = cut[index(stage)][index(end)];
    firsts[index(stage)] = end;
  }
  return firsts;
}

std::vector<int> assign_custom(const std::vector<int>& first_shards, int shards,
                               int stages) {
  const std::string shown = fmt::format("[{}]", fmt::join(first_shards, ", "));
  if (static_cast<int>(first_shards.size()) != stages) {
    fail_usage(
        "parallel.custom_partition is {}: {} entries for {} stages; it gives "
        "the first shard of each stage",
        shown, first_shards.size(), stages);
  }
  if (first_shards.front() != 0) {
    fail_usage("parallel.custom_partition is {}; it must start with 0", shown);
  }
  for (std::size_t i = 1; i < first_shards.size(); ++i) {
    if (first_shards[i] <= first_shards[i - 1]) {
      fail_usage(
          "parallel.custom_partition is {}; its entries must increase, but {} "
          "follows {}",
          shown, first_shards[i], first_shards[i - 1]);
    }
  }
  if (first_shards.back() >= shards) {
    fail_usage(
        "parallel.custom_partition is {}; the model has {} shards, so its "
        "entries are at most {}",
        shown, shards, shards - 1);
  }
  return first_shards;
}

}  // namespace merak::partition
