// GPipe (Huang et al., 2019, arXiv:1811.06965): all forwards, then all
// backwards. The simplest schedule, and the one that holds the most memory.
//
//   4 stages, 4 micro-batches; a backward takes twice a forward; digits are
//   forwards, letters backwards, dots idle:
//
//   rank 0  0123.........aabbccdd
//   rank 1  .0123......aabbccdd..
//   rank 2  ..0123...aabbccdd....
//   rank 3  ...0123aabbccdd......
//
// p stages, m micro-batches, equal stages, free messages:
//   makespan   (m + p - 1) (F + B)
//   in flight  m on every rank
//   order      kept: the paper runs the backwards last to first; here they run
//              first to last, which takes the same time and memory and sums
//              gradients in the order of one process.
// Any number of stages and micro-batches; one stage a rank.
#pragma once

#include "merak/schedule/action.h"
#include "merak/schedule/config.h"

namespace merak::schedule {

ActionList gpipe(const ScheduleConfig& config, int rank);

}  // namespace merak::schedule
