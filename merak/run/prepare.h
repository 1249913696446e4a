// Everything that can be wrong with a run and be seen before it starts: done
// once, by the process that the user started, so that a mistake is one line and
// not one a rank.
#pragma once

#include "merak/config/config.h"
#include "merak/config/layout.h"
#include "merak/runtime/trainer.h"

namespace merak::run {

// Usage error if the run cannot start in this layout: the model cannot be built
// or cut, the schedule cannot be made, data or weights are missing or wrong, or
// the checkpoint that is named is not sound. Text is tokenized on the way, into
// the cache that the ranks then read.
void prepare(const config::Config& config, const config::Layout& layout);

// The same for a model, and maybe data, that a program brings.
void prepare(const config::Config& config, const config::Layout& layout,
             const runtime::TrainableModel& model,
             const runtime::Datasets& own_data = {});

}  // namespace merak::run
