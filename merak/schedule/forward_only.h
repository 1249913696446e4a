// Forwards alone, for evaluation: no backward, no optimizer.
//
//   4 stages, 4 micro-batches:
//
//   rank 0  0123...
//   rank 1  .0123..
//   rank 2  ..0123.
//   rank 3  ...0123
//
//   makespan   (m + p - 1) F
//   order      kept
//
// It takes the place of each stage from the training schedule, so that the
// parameters are where they are needed. A rank with several stages runs them in
// a wave: stage s does micro-batch i in turn s + i.
#pragma once

#include <span>

#include "merak/schedule/action.h"

namespace merak::schedule {

// `rank_of_stage`: ranks 0 .. n - 1, each at least once.
ActionLists forward_only(std::span<const int> rank_of_stage, int micro_batches);

}  // namespace merak::schedule
