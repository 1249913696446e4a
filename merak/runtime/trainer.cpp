#include "merak/runtime/trainer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "merak/base/error.h"
#include "merak/engine/lanes.h"
#include "merak/optim/grad_norm.h"
#include "merak/runtime/exchange.h"
#include "merak/runtime/layout_plan.h"
#include "merak/schedule/build.h"

namespace merak::runtime {
namespace {

using schedule::ActionLists;

// World ranks of the stages of one pipeline.
std::vector<int> world_ranks(const dist::Mesh& mesh,
                             const std::vector<int>& pipeline_of_stage,
                             dist::Coordinate place) {
  std::vector<int> ranks;
  for (const int pipeline : pipeline_of_stage) {
    place.pipeline = pipeline;
    ranks.push_back(mesh.rank(place));
  }
  return ranks;
}

// Of all pipelines.
std::vector<dist::Lane> all_lanes(const dist::Mesh& mesh,
                                  const std::vector<int>& pipeline_of_stage,
                                  const std::vector<schedule::Edge>& edges) {
  std::vector<dist::Lane> all;
  for (int data = 0; data < mesh.degree(dist::Axis::kData); ++data) {
    for (int tensor = 0; tensor < mesh.degree(dist::Axis::kTensor); ++tensor) {
      const auto ranks =
          world_ranks(mesh, pipeline_of_stage, {0, data, tensor});
      const auto lanes = engine::lanes(edges, ranks);
      all.insert(all.end(), lanes.begin(), lanes.end());
    }
  }
  return all;
}

}  // namespace

Trainer::Trainer(const config::Config& config, const config::Layout& layout,
                 TrainableModel model, RankWorld world, Datasets datasets)
    : config_(config),
      layout_(layout),
      batch_(config::resolve_batch(config, layout)),
      model_(std::move(model)),
      world_(std::move(world)),
      datasets_(std::move(datasets)),
      device_(config.train.device),
      coordinate_(world_.mesh.coordinate(world_.rank)) {
  compile();
  make_actions();
  std::vector<StagePrograms> programs;
  for (const int stage : own_stages_) {
    programs.push_back(compile_stage(compiled_, stage, device_));
  }
  make_parameters(programs);
  make_optimizer();
  make_stages(std::move(programs));
  make_engines();
  make_sources();
  state_.seed = config_.train.seed;
  lr_schedule_ = {config_.lr_schedule.name, config_.optimizer.lr,
                  config_.lr_schedule.min_lr, config_.lr_schedule.warmup_steps,
                  config_.train.steps};
}

Trainer::~Trainer() = default;

void Trainer::compile() {
  compiled_ = compile_for(config_, layout_, model_);
  edges_ = edges_of(compiled_);
  trace::LoweredProgram count = trace::lower(compiled_.count, device_);
  count_constants_ = compiled_.constants;
  count_constants_.merge(count.constants);
  count_program_.emplace(std::move(count.graph));
}

void Trainer::make_actions() {
  const int stages = static_cast<int>(compiled_.staged.stages.size());
  actions_ = actions_for(config_, layout_, compiled_);
  pipeline_of_stage_ = schedule::rank_of_stages(actions_, stages);
  for (int stage = 0; stage < stages; ++stage) {
    if (pipeline_of_stage_[static_cast<std::size_t>(stage)] ==
        coordinate_.pipeline) {
      own_stages_.push_back(stage);
    }
  }
}

// The last stage's backward comes first, so its gradients are complete first.
void Trainer::make_parameters(const std::vector<StagePrograms>& programs) {
  std::vector<std::string> order;
  std::set<std::string> reached;
  for (std::size_t i = programs.size(); i-- > 0;) {
    const graph::Graph& backward = programs[i].training.graphs.backward;
    const auto stage = static_cast<std::size_t>(own_stages_[i]);
    const auto uses =
        gradient_order(compiled_.staged.stages[stage].graph, backward);
    for (const std::string& use : uses) {
      if (backward.find_output(program::kGradientPrefix + use) != nullptr) {
        reached.insert(use);
      }
    }
    order.insert(order.end(), uses.begin(), uses.end());
  }
  parameters_ = std::make_unique<ParameterStore>(
      compiled_, own_stages_, order,
      [this](const ParameterInfo& info) { return model_.initial_value(info); });
  for (const std::string& use : order) {
    if (reached.count(use) == 0) {
      idle_gradients_.push_back(parameters_->gradient(use));
    }
  }
}

void Trainer::make_optimizer() {
  reducer_ = std::make_unique<GradientReducer>(
      *parameters_, world_.groups.data.get(),
      make_tied_groups(compiled_, pipeline_of_stage_, world_.mesh,
                       *world_.factory));
  std::vector<optim::Slot> slots;
  for (const Parameter& parameter : parameters_->parameters()) {
    if (!parameter.trainable) continue;
    slots.push_back({parameter.name, parameter.value, gradient_of(parameter)});
  }
  const config::OptimizerConfig& options = config_.optimizer;
  optimizer_ =
      optim::make_optimizer({options.name, options.betas[0], options.betas[1],
                             options.eps, options.weight_decay},
                            std::move(slots));
}

void Trainer::make_stages(std::vector<StagePrograms> programs) {
  std::vector<std::unique_ptr<Stage>> stages;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    stages.push_back(std::make_unique<Stage>(compiled_, own_stages_[i],
                                             std::move(programs[i]),
                                             *parameters_, device_));
  }
  stages_ = std::make_unique<RankStages>(
      std::move(stages), compiled_.staged.edges, *reducer_, device_);
}

void Trainer::make_engines() {
  channels_ = std::make_unique<dist::PeerChannels>(
      *world_.factory, all_lanes(world_.mesh, pipeline_of_stage_, edges_));
  const auto ranks = world_ranks(world_.mesh, pipeline_of_stage_, coordinate_);
  const auto own = static_cast<std::size_t>(coordinate_.pipeline);
  const engine::EngineOptions options{world_.mesh.label(world_.rank), false,
                                      world_.on_action, world_.recorder};
  training_ = std::make_unique<engine::Engine>(
      actions_[own], edges_, ranks, *stages_, channels_.get(), options);
  const ActionLists evaluation = schedule::make_evaluation(
      pipeline_of_stage_, static_cast<int>(batch_.micro_batches), edges_);
  evaluation_ = std::make_unique<engine::Engine>(
      evaluation[own], edges_, ranks, *stages_, channels_.get(), options);
}

void Trainer::make_sources() {
  const auto source = [this](const std::shared_ptr<const data::Dataset>& data,
                             bool training) {
    data::SamplerConfig sampler;
    sampler.num_samples = data->num_samples();
    sampler.global_batch =
        static_cast<std::uint64_t>(config_.train.global_batch_size);
    sampler.data_ranks = static_cast<std::uint64_t>(layout_.data);
    sampler.micro_batch = static_cast<std::uint64_t>(batch_.micro_batch_size);
    sampler.seed = static_cast<std::uint64_t>(config_.train.seed);
    sampler.shuffle = training && config_.data.shuffle;
    sampler.one_pass = !training;
    return std::make_unique<BatchSource>(data, sampler, coordinate_.data);
  };
  train_source_ = source(datasets_.train, true);
  if (datasets_.validation) {
    validation_source_ = source(datasets_.validation, false);
  }
}

StepInput Trainer::input_from(BatchSource& source, std::int64_t step) {
  StepInput input;
  input.batch = [this, &source, step](int micro_batch) {
    return std::pair(source.load(step, micro_batch),
                     source.position(config_.train.seed, step, micro_batch));
  };
  return input;
}

// Over all data ranks; on ranks without the loss nobody asks.
double Trainer::count_labels(BatchSource& source, std::int64_t step) {
  if (!stages_->has_loss()) return 0;
  double count = 0;
  for (std::int64_t m = 0; m < batch_.micro_batches; ++m) {
    const Batch batch = source.load(step, m);
    std::vector<at::Tensor> inputs;
    for (const graph::Input& input : count_program_->program().inputs()) {
      inputs.push_back(input.kind == graph::InputKind::kUser
                           ? batch.at(input.name)
                           : count_constants_.at(input.name));
    }
    count += count_program_->run(std::move(inputs)).front().item<double>();
  }
  sum(world_.groups.data.get(), {&count, 1});
  return count;
}

StepReport Trainer::step() {
  report_ = {};
  report_.step = state_.step;
  report_.lr = optim::learning_rate(lr_schedule_, state_.step);
  for (at::Tensor& gradient : idle_gradients_) gradient.zero_();
  count_ = count_labels(*train_source_, state_.step);
  stages_->set_loss_seed(count_ > 0 ? 1 / count_ : 0);
  StepInput input = input_from(*train_source_, state_.step);
  input.update = [this] { update(); };
  stages_->begin_step(std::move(input));
  report_.times = training_->run(state_.step);
  ++state_.step;
  if (skipped_in_a_row_ >= kMaxSkippedSteps) {
    fail_runtime(
        "loss or gradient norm was not finite in {} steps in a row, up to step "
        "{}: the run is given up. A lower optimizer.lr, a longer "
        "lr_schedule.warmup_steps or train.gradient_clip_norm may help; "
        "checkpoints are from before",
        skipped_in_a_row_, report_.step);
  }
  return report_;
}

// By trainable parameter of the whole model; zero for those of other ranks.
std::vector<double> Trainer::sums_of_squares() const {
  std::vector<double> sums;
  auto own = parameters_->parameters().begin();
  for (const ParameterInfo& info : compiled_.parameters) {
    const bool here =
        own != parameters_->parameters().end() && own->name == info.name;
    if (info.trainable) {
      sums.push_back(here && own->norm_owner
                         ? optim::sum_of_squares(gradient_of(*own))
                         : 0.0);
    }
    if (here) ++own;
  }
  return sums;
}

// All ranks see the same sums, so they decide alike.
void Trainer::update() {
  double loss_sum = stages_->loss_sum();
  if (stages_->has_loss()) sum(world_.groups.data.get(), {&loss_sum, 1});
  std::vector<double> sums = sums_of_squares();
  sums.push_back(loss_sum);
  sums.push_back(count_);
  sum(world_.groups.pipeline.get(), sums);
  const double count = sums.back();
  report_.tokens = std::llround(count);
  report_.loss = sums[sums.size() - 2] / count;
  report_.grad_norm =
      optim::global_norm(std::span(sums).first(sums.size() - 2));
  report_.skipped =
      !std::isfinite(report_.loss) || !std::isfinite(report_.grad_norm);
  if (report_.skipped) {
    ++skipped_in_a_row_;
    return;
  }
  skipped_in_a_row_ = 0;
  const double coefficient = optim::clip_coefficient(
      report_.grad_norm, config_.train.gradient_clip_norm);
  if (coefficient < 1) {
    for (Bucket& bucket : parameters_->buckets()) bucket.flat.mul_(coefficient);
  }
  optimizer_->step(report_.lr, ++state_.updates);
}

Evaluation Trainer::evaluate() {
  MERAK_CHECK(validation_source_ != nullptr, "there is no validation set");
  double totals[2] = {0, 0};  // loss sum, labels
  for (std::int64_t s = 0; s < validation_source_->steps_per_epoch(); ++s) {
    totals[1] += count_labels(*validation_source_, s);
    StepInput input = input_from(*validation_source_, s);
    input.training = false;
    stages_->begin_step(std::move(input));
    evaluation_->run(state_.step);
    totals[0] += stages_->loss_sum();
  }
  if (stages_->has_loss()) sum(world_.groups.data.get(), {totals, 1});
  sum(world_.groups.pipeline.get(), totals);
  return {totals[0] / totals[1], std::llround(totals[1])};
}

void Trainer::restore(const checkpoint::Checkpoint& checkpoint) {
  state_ = runtime::restore(checkpoint, compiled_, *parameters_, *optimizer_);
}

bool Trainer::saves_parameters() const {
  return coordinate_.data == 0 && coordinate_.tensor == 0;
}

}  // namespace merak::runtime
