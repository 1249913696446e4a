#include "merak/schedule/registry.h"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/schedule/gpipe.h"
#include "merak/schedule/one_f_one_b.h"

namespace merak::schedule {

namespace {

std::string one_stage_a_rank(const ScheduleConfig& config) {
  if (config.chunks == 1) return {};
  return fmt::format(
      "parallel.chunks is {}; this schedule has one stage a rank: set it to 1",
      config.chunks);
}

constexpr std::array<Schedule, 2> kSchedules = {{
    {"gpipe", "all forwards, then all backwards", gpipe, one_stage_a_rank,
     true},
    {"1f1b", "one forward, one backward in turn; at most p in flight",
     one_f_one_b, one_stage_a_rank, true},
}};
constexpr std::size_t kDefault = 1;

}  // namespace

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule& default_schedule() {
  static_assert(kSchedules[kDefault].keeps_order);
  return kSchedules[kDefault];
}

const Schedule& find_schedule(std::string_view name) {
  std::vector<std::string> names;
  for (const Schedule& schedule : kSchedules) {
    if (schedule.name == name) return schedule;
    names.emplace_back(schedule.name);
  }
  const std::optional<std::string> meant = nearest(name, names);
  fail_usage("parallel.schedule is '{}'; it is one of {}{}", name,
             join(names, ", "),
             meant ? fmt::format("; did you mean '{}'?", *meant) : "");
}

}  // namespace merak::schedule
