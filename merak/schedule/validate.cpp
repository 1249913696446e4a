#include "merak/schedule/validate.h"

#include "merak/base/error.h"
#include "merak/schedule/validate_parts.h"

namespace merak::schedule {

void validate(const ActionLists& lists, const Rules& rules) {
  check_edges(rules.edges, rules.stages);
  MERAK_CHECK(rules.micro_batches > 0, "{} micro-batches", rules.micro_batches);
  const std::vector<int> rank_of_stage = rank_of_stages(lists, rules.stages);
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    check_rank(lists, rank, rank_of_stage, rules);
  }
  check_channel_order(lists);
  check_rendezvous(lists, rank_of_stage);
}

}  // namespace merak::schedule
