// Training on one rank: the stages that the layout gives it, its part of every
// step, and what all ranks decide together.
//
//   Trainer trainer(config, layout, model, world, datasets);
//   for (...) { StepReport report = trainer.step(); }
//
// A step: labels of the global batch are counted, the engine walks the rank's
// action list, gradients are summed, one global norm is taken, and the
// optimizer steps, or, if loss or norm is not finite, no rank's does.
//
// Every rank of the world makes one and calls in the same order. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merak/config/config.h"
#include "merak/config/layout.h"
#include "merak/data/dataset.h"
#include "merak/dist/flight_recorder.h"
#include "merak/dist/mesh.h"
#include "merak/dist/peer_channels.h"
#include "merak/engine/engine.h"
#include "merak/optim/lr_schedule.h"
#include "merak/optim/optimizer.h"
#include "merak/runtime/batches.h"
#include "merak/runtime/gradient_reducer.h"
#include "merak/runtime/model_source.h"
#include "merak/runtime/rank_stages.h"
#include "merak/runtime/saver.h"

namespace merak::runtime {

// How a rank reaches the others, and who hears of what it does.
struct RankWorld {
  dist::Mesh mesh{1, 1, 1};
  int rank = 0;
  dist::MeshGroups groups;
  dist::GroupFactory* factory = nullptr;  // for further groups
  // Told before every action; may be empty.
  std::function<void(std::int64_t step, int micro_batch,
                     const std::string& action)>
      on_action;
  dist::FlightRecorder* recorder = nullptr;  // may be null
};

struct Datasets {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Dataset> validation;  // may be null
};

struct StepReport {
  std::int64_t step = 0;
  double loss = 0;  // over the valid labels of the global batch
  double grad_norm = 0;
  double lr = 0;
  std::int64_t tokens = 0;  // valid labels of the global batch
  bool skipped = false;     // loss or norm was not finite: no update
  engine::StepTimes times;  // this rank's
};

struct Evaluation {
  double loss = 0;
  std::int64_t tokens = 0;
};

// Updates that may be skipped in a row before the run is given up.
inline constexpr int kMaxSkippedSteps = 8;

class Trainer {
 public:
  Trainer(const config::Config& config, const config::Layout& layout,
          TrainableModel model, RankWorld world, Datasets datasets);
  ~Trainer();

  // Runtime error after kMaxSkippedSteps skipped steps in a row.
  StepReport step();
  // The whole validation set once, random operators off.
  Evaluation evaluate();

  // From a checkpoint in any layout.
  void restore(const checkpoint::Checkpoint& checkpoint);

  const CompiledModel& compiled() const { return compiled_; }
  const schedule::ActionLists& actions() const { return actions_; }
  const config::Layout& layout() const { return layout_; }
  const TrainerState& state() const { return state_; }
  const ParameterStore& parameters() const { return *parameters_; }
  ParameterStore& parameters() { return *parameters_; }
  const optim::Optimizer& optimizer() const { return *optimizer_; }
  // Copies are saved by the first rank that has them.
  bool saves_parameters() const;

 private:
  void compile();
  void make_actions();
  void make_parameters(const std::vector<StagePrograms>& programs);
  void make_stages(std::vector<StagePrograms> programs);
  void make_optimizer();
  void make_engines();
  void make_sources();

  StepInput input_from(BatchSource& source, std::int64_t step);
  double count_labels(BatchSource& source, std::int64_t step);
  void update();
  std::vector<double> sums_of_squares() const;

  config::Config config_;
  config::Layout layout_;
  config::Batch batch_;
  TrainableModel model_;
  RankWorld world_;
  Datasets datasets_;
  c10::Device device_;
  dist::Coordinate coordinate_;

  CompiledModel compiled_;
  std::vector<schedule::Edge> edges_;
  schedule::ActionLists actions_;  // by pipeline coordinate
  std::vector<int> pipeline_of_stage_;
  std::vector<int> own_stages_;
  std::unique_ptr<ParameterStore> parameters_;
  // Of uses that no backward reaches: zero, also after sums over tied ones.
  std::vector<at::Tensor> idle_gradients_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<GradientReducer> reducer_;
  std::unique_ptr<RankStages> stages_;
  std::unique_ptr<dist::PeerChannels> channels_;
  std::unique_ptr<engine::Engine> training_, evaluation_;
  std::unique_ptr<BatchSource> train_source_, validation_source_;
  std::optional<Executor> count_program_;
  trace::Constants count_constants_;

  optim::LrSchedule lr_schedule_;
  TrainerState state_;
  StepReport report_;
  double count_ = 0;  // valid labels of the step, on ranks with the loss
  int skipped_in_a_row_ = 0;
};

}  // namespace merak::runtime
