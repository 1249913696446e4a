// Is this schedule sound? Everything that a schedule must obey for the engine
// to compute the right numbers and never to hang, whoever made it.
#pragma once

#include <vector>

#include "merak/schedule/action.h"
#include "merak/schedule/edge.h"

namespace merak::schedule {

struct Rules {
  int stages = 1;
  int micro_batches = 1;
  std::vector<Edge> edges = {};
  bool training = true;   // false: loads, forwards and activations only
  int max_in_flight = 0;  // on every rank; 0: no limit
};

// Returns if all of this holds, else throws a usage error that names rank,
// index and action of the first fault, what it should be, and why.
//
//   1. A stage has one rank.
//   2. Each stage has, of each micro-batch, one forward and one backward, whole
//      or in two halves, at most one load and one recompute, and one message
//      for every edge to or from another rank, both ways if differentiable;
//      a gradient reduction; each rank a tied reduction and an optimizer step.
//      Nothing else.
//   3. In a rank's order, values come before what reads them: load, received
//      activations, forward, recompute, received gradients, backward; values
//      are made before they are sent; the last gradients come before their
//      reductions; the optimizer step is last.
//   4. Both ends of a channel have the same order of micro-batches.
//   5. No deadlock, even if sends wait for their receives, every receive waits
//      in its place, and tied reduction and optimizer step wait for all ranks.
//   6. No more than max_in_flight micro-batches are in flight (in_flight.h).
void validate(const ActionLists& lists, const Rules& rules);

}  // namespace merak::schedule
