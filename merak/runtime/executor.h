// Runs a program: a functional graph of kernels, over LibTorch.
//
// Operators are found and their arguments laid out once; a run is a walk of
// boxed calls below autograd. Each value is let go after its last use, inputs
// included (the caller moves them in), so memory falls as the program goes on.
// A view keeps what it views alive.
//
// Gradient outputs named in `accumulated` are not returned but added to a
// buffer of the caller; where the producing operator has an accumulating form
// (gradient_sinks.h) the product itself adds, and no gradient tensor exists.
//
// Errors of kernels come out as merak::Error with operator and module. An
// executor is immutable: runs may go on in several threads at once.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "merak/graph/graph.h"
#include "merak/runtime/gradient_sinks.h"
#include "merak/trace/operator_call.h"

namespace merak::runtime {

struct ExecutorOptions {
  c10::Device device = c10::Device(c10::kCPU);
  std::vector<std::string> accumulated;  // names of outputs
  // Compares every result's type with the program's: for tests.
  bool check_types = false;
};

class Executor {
 public:
  Executor() = default;  // of the empty program
  explicit Executor(graph::Graph program, ExecutorOptions options = {});

  const graph::Graph& program() const { return program_; }
  // The outputs that are accumulated, in the order of the run's targets.
  const std::vector<std::string>& accumulated() const { return targets_; }

  // `inputs` in the order of program().inputs(). Returns the outputs in order,
  // undefined where accumulated.
  // `on_target` is called with a target's index once it has all that this run
  // adds to it.
  std::vector<at::Tensor> run(
      std::vector<at::Tensor> inputs,
      std::span<const GradientTarget> targets = {},
      const std::function<void(std::size_t)>& on_target = {}) const;

 private:
  struct Addition {  // an accumulated output without a sink of its own
    graph::ValueId value;
    std::size_t target;
  };
  struct Step {
    trace::OperatorCall call;
    std::vector<graph::ValueId> results;
    std::vector<graph::ValueId> last_used;  // freed behind the step
    std::optional<SinkPlan> sink;
    std::vector<Addition> additions;
  };
  class Frame;

  void plan_targets(const std::vector<std::string>& accumulated);
  bool plan_sink(graph::ValueId value, std::size_t target,
                 const std::vector<int>& uses);
  void plan_frees();

  graph::Graph program_;
  ExecutorOptions options_;
  std::vector<Step> steps_;
  std::vector<graph::ValueId> unused_inputs_;
  std::vector<std::string> targets_;
  std::vector<Addition> input_additions_;  // gradients that are inputs
  std::vector<graph::ValueId> returned_;   // by output; kNoValue: accumulated
};

}  // namespace merak::runtime
