#include "merak/schedule/one_f_one_b.h"

#include <algorithm>

namespace merak::schedule {

ActionList one_f_one_b(const ScheduleConfig& config, int rank) {
  const int m = config.micro_batches;
  const int warm_up = std::min(m, config.stages - rank);
  ActionList list;
  for (int i = 0; i < warm_up; ++i) list.push_back(forward(rank, i));
  for (int i = 0; i < m; ++i) {
    list.push_back(backward(rank, i));
    if (i + warm_up < m) list.push_back(forward(rank, i + warm_up));
  }
  return list;
}

}  // namespace merak::schedule
