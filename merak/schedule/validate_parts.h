// The parts of validate(), in the order in which they run: each may rely on
// those before it. Numbers are those of its rules.
#pragma once

#include <vector>

#include "merak/schedule/validate.h"

namespace merak::schedule {

// 2, 3 and 6: the list of one rank.
void check_rank(const ActionLists& lists, std::size_t rank,
                const std::vector<int>& rank_of_stage, const Rules& rules);

// 4.
void check_channel_order(const ActionLists& lists);

// 5: runs the lists with blocking messages.
void check_rendezvous(const ActionLists& lists,
                      const std::vector<int>& rank_of_stage);

}  // namespace merak::schedule
