// The stages of one rank, as the engine drives them: batches in, values along
// edges, gradients into their buffers, finished ones to the reducer.
//
// Tensors of a message belong to this class from when they are made (or
// allocated) until they are sent (or delivered); a stage's own memory is let go
// as soon as its backward is done. Values for a stage of the same rank are
// handed over without a message.
//
// One thread calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "merak/engine/stage_executor.h"
#include "merak/partition/split_stages.h"
#include "merak/runtime/gradient_reducer.h"
#include "merak/runtime/stage.h"

namespace merak::runtime {

// What a step of training or of an evaluation works on.
struct StepInput {
  std::function<std::pair<Batch, BatchPosition>(int micro_batch)> batch;
  // Called for the optimizer_step action; empty in an evaluation.
  std::function<void()> update;
  bool training = true;  // else random operators are off, and nothing is saved
};

class RankStages : public engine::StageExecutor {
 public:
  // `edges`: of the whole model. All outlive this object.
  RankStages(std::vector<std::unique_ptr<Stage>> stages,
             const std::vector<partition::Edge>& edges,
             GradientReducer& reducer, c10::Device device);

  void begin_step(StepInput input);
  // The step's sum of losses, added in the order of micro-batches; 0 where no
  // stage of this rank has the loss.
  double loss_sum() const;

  bool has_loss() const;
  // See Stage::set_loss_seed.
  void set_loss_seed(double seed);

  void load(int stage, int micro_batch) override;
  void forward(int stage, int micro_batch) override;
  void recompute(int stage, int micro_batch) override;
  void backward(int stage, int micro_batch,
                engine::Accumulation weights) override;
  void backward_input(int stage, int micro_batch) override;
  void backward_weight(int stage, int micro_batch,
                       engine::Accumulation weights) override;

  std::vector<dist::MessagePart> outgoing(
      const schedule::Action& send) override;
  void sent(const schedule::Action& send) override;
  std::vector<dist::MessagePart> incoming(
      const schedule::Action& receive) override;
  void received(const schedule::Action& receive) override;

  void reduce_tied_gradients() override;
  void reduce_gradients(int stage) override;
  void optimizer_step() override;

 private:
  using Tensors = std::vector<at::Tensor>;

  Stage& stage(int index) { return *stages_.at(index); }
  bool is_here(int index) const { return stages_.contains(index); }
  void pass_on(int stage, int micro_batch, bool gradients);
  void deliver(const schedule::Action& receive, Tensors tensors);
  std::function<void(const std::string&)> notifier(
      engine::Accumulation weights);

  std::map<int, std::unique_ptr<Stage>> stages_;
  const std::vector<partition::Edge>& edges_;
  GradientReducer& reducer_;
  c10::Device device_;
  StepInput input_;
  std::map<std::pair<int, int>, bool> loaded_;  // stage, micro-batch
  std::map<schedule::Action, Tensors> messages_;
  std::map<int, double> losses_;  // by micro-batch
};

}  // namespace merak::runtime
