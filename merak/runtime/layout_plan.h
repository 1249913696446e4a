// What a configuration and a layout make of a model, without any rank: the same
// for those that train, and for who only asks (checks before a run, `trace`).
#pragma once

#include <string>
#include <vector>

#include "merak/config/config.h"
#include "merak/config/layout.h"
#include "merak/runtime/compile.h"
#include "merak/runtime/model_source.h"
#include "merak/schedule/action.h"
#include "merak/schedule/edge.h"

namespace merak::runtime {

// The model for micro-batches of this layout, cut into its stages. Usage error
// if the model cannot be cut so.
CompiledModel compile_for(const config::Config& config,
                          const config::Layout& layout,
                          const TrainableModel& model);

// The name that parallel.schedule = "auto" stands for, or the one given.
std::string schedule_of(const config::Config& config);

std::vector<schedule::Edge> edges_of(const CompiledModel& model);

// Complete lists, by pipeline coordinate. Usage error if the schedule cannot be
// made.
schedule::ActionLists actions_for(const config::Config& config,
                                  const config::Layout& layout,
                                  const CompiledModel& model);

}  // namespace merak::runtime
