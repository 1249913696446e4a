// The table of training schedules. To add one: its file pair, its row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "merak/schedule/action.h"
#include "merak/schedule/config.h"

namespace merak::schedule {

struct Schedule {
  std::string_view name;
  std::string_view summary;  // one line for people
  // Forwards and backwards of one rank, in order; pure. Messages and the end of
  // the step are added for all schedules alike (build.h).
  ActionList (*compute)(const ScheduleConfig& config, int rank);
  // Why the schedule cannot be made for a sound configuration, naming key,
  // value and rule; empty if it can.
  std::string (*refusal)(const ScheduleConfig& config);
  // Every stage adds up micro-batches in their order, so that sums have the
  // bits of one process.
  bool keeps_order;
};

std::span<const Schedule> schedules();

// What "auto" stands for: every stage adds up micro-batches in their order,
// with the fewest of them in flight.
const Schedule& default_schedule();

// Usage error that lists the names and suggests the nearest.
const Schedule& find_schedule(std::string_view name);

}  // namespace merak::schedule
