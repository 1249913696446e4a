#include "merak/schedule/gpipe.h"

namespace merak::schedule {

ActionList gpipe(const ScheduleConfig& config, int rank) {
  ActionList list;
  for (int i = 0; i < config.micro_batches; ++i) {
    list.push_back(forward(rank, i));
  }
  for (int i = 0; i < config.micro_batches; ++i) {
    list.push_back(backward(rank, i));
  }
  return list;
}

}  // namespace merak::schedule
