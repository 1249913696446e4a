// From a name or a file to complete, checked action lists of all ranks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "merak/schedule/action.h"
#include "merak/schedule/config.h"
#include "merak/schedule/edge.h"

namespace merak::schedule {

// The schedule of registry.h with messages along `edges` and the end of a step.
// Usage error, naming key, value and rule, if there is none of this name or it
// cannot be made for this configuration.
ActionLists make_schedule(std::string_view name, const ScheduleConfig& config,
                          std::span<const Edge> edges);

// A user's own schedule (text.h). Messages and the end of a step are added if
// it has none. Usage errors begin with `source`. Which rank has which stage is
// what the text says; the number of ranks must be config.ranks().
ActionLists schedule_from_text(std::string_view text, std::string_view source,
                               const ScheduleConfig& config,
                               std::span<const Edge> edges);

// Evaluation with stages where they are in training (rank_of_stages()).
ActionLists make_evaluation(std::span<const int> rank_of_stage,
                            int micro_batches, std::span<const Edge> edges);

}  // namespace merak::schedule
