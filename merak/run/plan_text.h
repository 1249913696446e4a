// What a run is about to do, for people and as plan.json of the run folder
// (docs/formats/run_folder.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "merak/config/config.h"
#include "merak/runtime/trainer.h"

namespace merak::run {

nlohmann::ordered_json plan_json(const config::Config& config,
                                 const runtime::Trainer& trainer);

// Some lines, each with its end:
//   4 ranks: pipeline 2 x data 2 x tensor 1; 1f1b, 4 micro-batches of 2 a step
//   stage 0 [pp0]  shards 0-6    8,123,392 parameters
//   ...
std::string plan_text(const config::Config& config,
                      const runtime::Trainer& trainer);

}  // namespace merak::run
