// A trainer's state to and from checkpoints, whatever the layout.
//
// What is saved: weights and optimizer states by name, and as the trainer's
// JSON the number of steps and of updates done. Ranks with the same parameters
// (data ranks) save them once. Saving copies the tensors and goes on in the
// background; the manifests are gathered at the next call.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "merak/checkpoint/async_saver.h"
#include "merak/checkpoint/checkpoint.h"
#include "merak/dist/communicator.h"
#include "merak/optim/optimizer.h"
#include "merak/runtime/parameters.h"

namespace merak::runtime {

struct TrainerState {
  std::int64_t step = 0;     // training steps done: the data position as well
  std::int64_t updates = 0;  // of the optimizer: steps without skipped ones
  std::int64_t seed = 0;
};

struct SaverOptions {
  std::filesystem::path run_folder;
  std::string layout_json = "{}";
  std::string model_json = "{}";
  int keep = 3;
  // Whether this rank saves its parameters: the first of those with copies.
  bool writes = true;
};

// Every rank of `world` has one and calls in the same order.
class Saver {
 public:
  Saver(SaverOptions options, dist::Communicator& world);
  ~Saver();

  // Starts a save; finishes the one before.
  void save(const TrainerState& state, const ParameterStore& parameters,
            const optim::Optimizer& optimizer);
  // Waits for the save in progress and publishes it. Runtime error on every
  // rank if any rank failed.
  void finish();

 private:
  void publish(const std::string& manifest);

  SaverOptions options_;
  dist::Communicator& world_;
  checkpoint::AsyncSaver saver_;
  TrainerState pending_;
};

// All tensors that a checkpoint of this model must hold.
std::vector<checkpoint::TensorInfo> checkpoint_tensors(
    const CompiledModel& model, const optim::Optimizer& optimizer);

// Loads what this rank holds; the trainer's state comes back. Usage error if
// the checkpoint is not of this model and optimizer.
TrainerState restore(const checkpoint::Checkpoint& checkpoint,
                     const CompiledModel& model, ParameterStore& parameters,
                     optim::Optimizer& optimizer);

}  // namespace merak::runtime
