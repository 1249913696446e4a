// The end of a training step, the same for every schedule.
#pragma once

#include "merak/schedule/action.h"

namespace merak::schedule {

// Appends to every rank: reduce_tied_gradients, reduce_gradients of each of its
// stages in the order in which their last backwards come, optimizer_step.
void add_step(ActionLists& lists);

}  // namespace merak::schedule
