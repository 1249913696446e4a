// A whole layout in one process: each rank is a thread, messages are copies.
// For `merak verify` and for tests; numbers are those of real processes.
#pragma once

#include <functional>

#include "merak/config/config.h"
#include "merak/config/layout.h"
#include "merak/runtime/model_source.h"
#include "merak/runtime/trainer.h"

namespace merak::run {

// Called on every rank's thread with its trainer.
using RankBody = std::function<void(int rank, runtime::Trainer& trainer)>;

struct InProcessOptions {
  int threads_per_rank = 1;  // LibTorch's
};

// Trains on layout.world() threads; returns when all are done. What the first
// failing rank throws ends the others and is thrown here. `model` makes a
// model for each rank.
void on_ranks(const config::Config& config, const config::Layout& layout,
              const std::function<runtime::TrainableModel()>& model,
              const runtime::Datasets& datasets,
              const InProcessOptions& options, const RankBody& body);

}  // namespace merak::run
