// 1F1B: PipeDream-Flush (Narayanan et al., 2021, arXiv:2006.09503, section 3.2;
// "DAPPLE", arXiv:2007.01045). Each rank runs just the forwards that it takes
// to keep the pipeline busy, then one backward and one forward in turn, then
// the backwards that are left: GPipe's time with the memory of at most p
// micro-batches, however many there are.
//
//   4 stages, 8 micro-batches; a backward takes twice a forward; digits are
//   forwards, letters backwards, dots idle:
//
//   rank 0  0123......aa4bb5cc6dd7ee.ff.gg.hh
//   rank 1  .012....aa3bb4cc5dd6ee7ff.gg.hh..
//   rank 2  ..01..aa2bb3cc4dd5ee6ff7gg.hh....
//   rank 3  ...0aa1bb2cc3dd4ee5ff6gg7hh......
//
// p stages, m micro-batches, equal stages, free messages:
//   makespan   (m + p - 1) (F + B)
//   in flight  min(m, p - rank)
//   order      kept: every rank runs forwards 0, 1, ... and backwards 0, 1, ...
// Any number of stages and micro-batches, also m < p; one stage a rank.
#pragma once

#include "merak/schedule/action.h"
#include "merak/schedule/config.h"

namespace merak::schedule {

ActionList one_f_one_b(const ScheduleConfig& config, int rank);

}  // namespace merak::schedule
