// What a schedule is made for.
#pragma once

namespace merak::schedule {

struct ScheduleConfig {
  int stages = 1;         // of the whole model: ranks * chunks
  int micro_batches = 1;  // of one step
  int chunks = 1;         // stages a rank

  int ranks() const { return stages / chunks; }
};

}  // namespace merak::schedule
