#include "merak/schedule/forward_only.h"

#include <algorithm>

#include "merak/base/error.h"

namespace merak::schedule {

ActionLists forward_only(std::span<const int> rank_of_stage,
                         int micro_batches) {
  MERAK_CHECK(!rank_of_stage.empty(), "no stages");
  const int stages = static_cast<int>(rank_of_stage.size());
  ActionLists lists(
      static_cast<std::size_t>(std::ranges::max(rank_of_stage) + 1));
  for (int turn = 0; turn < stages + micro_batches - 1; ++turn) {
    for (int stage = 0; stage < stages; ++stage) {
      const int micro_batch = turn - stage;
      if (micro_batch < 0 || micro_batch >= micro_batches) continue;
      const int rank = rank_of_stage[static_cast<std::size_t>(stage)];
      lists[static_cast<std::size_t>(rank)].push_back(
          forward(stage, micro_batch));
    }
  }
  return lists;
}

}  // namespace merak::schedule
