// How many micro-batches a rank holds at once: what its activations' memory is
// multiplied by.
#pragma once

#include <vector>

#include "merak/schedule/action.h"

namespace merak::schedule {

// By how much the number of micro-batches in flight grows with an action: +1
// for a forward, -1 for a backward or, where it is halved, for
// backward_weight, which needs the saved values last. Several stages of a rank
// count each for themselves.
int in_flight_change(ActionType type);

// The most in flight at any moment of a list of forwards and backwards.
int max_in_flight(const ActionList& list);
std::vector<int> max_in_flight(const ActionLists& lists);  // by rank

}  // namespace merak::schedule
