// Schedules as text, both ways: what users write by hand, what tests compare,
// what error messages quote.
//
//   0L1          stage 0 loads micro-batch 1
//   0F1 0R1      forward, recompute
//   0B1          backward; or its halves:
//   0I1 0W1      backward-input, backward-weight
//   0SEND_F1>2   stage 0 sends its activations of micro-batch 1 to stage 2
//   2RECV_F1<0   stage 2 receives them
//   2SEND_B1>0   stage 2 sends their gradients back
//   0RECV_B1<2   stage 0 receives those
//   0REDUCE      gradients of stage 0 are summed over the data ranks
//   REDUCE_TIED  gradients of tied parameters are summed over their stages
//   STEP         the optimizer steps
//
// A whole schedule names each rank in order; actions are separated by blanks
// or line ends, and `#` starts a comment:
//
//   # two stages, two micro-batches
//   rank 0: 0F0 0F1 0B0 0B1
//   rank 1: 1F0 1B0
//           1F1 1B1
//
// The letters are those of PyTorch's pipelining schedules.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "merak/schedule/action.h"

namespace merak::schedule {

std::string to_text(const Action& action);
std::string to_text(const ActionList& list);    // one line, no line end
std::string to_text(const ActionLists& lists);  // "rank 0: ...\n", each

// Usage errors say what is wrong and what would be right; those of a whole
// schedule begin with "SOURCE: line L, column C". Numbers are below a million.
Action parse_action(std::string_view text);
ActionLists parse_schedule(std::string_view text, std::string_view source);

// For error messages: "rank 1, action 4 (1F2)", "rank 1, action 9 (the end)".
// Actions count from 0.
std::string locate(const ActionLists& lists, std::size_t rank,
                   std::size_t index);

}  // namespace merak::schedule
