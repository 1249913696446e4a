// One rank's whole run: joins the others, resumes, trains, evaluates, saves,
// reports, leaves.
//
// A failure is told to whoever watches, and the flight recorder is written to
// the run folder. With other ranks about, threads may hang in communication
// then: the caller says what it must and ends the process with _exit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "merak/config/config.h"
#include "merak/dist/launch/launch_environment.h"
#include "merak/runtime/model_source.h"
#include "merak/runtime/trainer.h"

namespace merak::run {

struct RunResult {
  std::int64_t steps = 0;      // done in all, those before a resume included
  std::optional<double> loss;  // of the last step; none: nothing was left
  std::optional<double> validation_loss;
  // Of the training text, measured on the validation text; where both are
  // small enough to count.
  std::optional<double> unigram_entropy;
  // Over all steps but the first; none: there was no other.
  std::optional<double> tokens_per_second;
  int stopped_by = 0;  // a signal; the run can be resumed
};

// The rank that `environment` says, in a world of as many ranks. Every rank
// returns the same result; only rank 0 should show it. Trains on `own_data` if
// that has a training set, else on the data that the configuration names.
RunResult train_rank(const config::Config& config,
                     const dist::LaunchEnvironment& environment,
                     const std::function<runtime::TrainableModel()>& make_model,
                     const runtime::Datasets& own_data = {});

// All ranks of `layout` as threads of this process, which share its cores: the
// same numbers and the same run folder. Memory is counted for the process, and
// stands for each rank. A failure leaves no thread behind.
RunResult train_threads(
    const config::Config& config, const config::Layout& layout,
    const std::function<runtime::TrainableModel()>& make_model,
    const runtime::Datasets& own_data = {});

}  // namespace merak::run
