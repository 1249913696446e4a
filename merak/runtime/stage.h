// One stage on its rank: its programs, and what is alive of each micro-batch.
//
// A micro-batch is loaded, gets its boundary values, runs forward, gets the
// gradients of its outputs, runs backward, and is forgotten; the stage holds
// each tensor just as long as a program still needs it. Who calls, in which
// order, and how boundary values travel is the engine's business.
//
// One thread calls.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "merak/runtime/compile.h"
#include "merak/runtime/executor.h"
#include "merak/runtime/parameters.h"

namespace merak::runtime {

using Batch = std::map<std::string, at::Tensor>;  // inputs by name

// Where a micro-batch stands in the whole run: what random masks depend on.
struct BatchPosition {
  std::int64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t first_sample = 0;  // within the global batch
  std::int64_t samples = 0;
};

// Names of a stage's trainable parameter uses, in the order in which its
// backward finishes their gradients; those without a gradient come last.
std::vector<std::string> gradient_order(const graph::Graph& stage,
                                        const graph::Graph& backward);

class Stage {
 public:
  Stage(const CompiledModel& model, int index, StagePrograms programs,
        ParameterStore& parameters, c10::Device device);

  int index() const { return index_; }
  bool has_loss() const { return loss_output_.has_value(); }
  const Executor& forward_program() const { return forward_.executor; }
  const Executor& backward_program() const { return backward_.executor; }

  void load(int micro_batch, const Batch& batch, const BatchPosition& position);

  // Boundary values by the name that the edge gives them.
  void set_boundary(int micro_batch, const std::string& name, at::Tensor value);
  void forward(int micro_batch);
  at::Tensor output(int micro_batch, const std::string& name) const;
  // Outputs are kept until all that goes out has gone.
  void release_outputs(int micro_batch);

  // Evaluation: forward without what a backward needs.
  void evaluate(int micro_batch);

  // `source`: which later stage it comes from; several are added in the order
  // of stages, so that bits do not depend on arrival.
  void set_output_gradient(int micro_batch, const std::string& name, int source,
                           at::Tensor gradient);
  // Runs backward; gradients of parameters go to `overwrite ? = : +=`.
  // `on_parameter` is called with a use's name as soon as its gradient of this
  // micro-batch is in the buffer.
  void backward(int micro_batch, bool overwrite,
                const std::function<void(const std::string&)>& on_parameter);
  // The same in two halves: first what earlier stages wait for, later the
  // parameters.
  void backward_input(int micro_batch);
  void backward_weight(
      int micro_batch, bool overwrite,
      const std::function<void(const std::string&)>& on_parameter);
  // The gradient of a boundary value; zeros if the stage does not depend on it.
  at::Tensor boundary_gradient(int micro_batch, const std::string& name) const;
  void forget(int micro_batch);

  // What the loss's gradient starts from: 1 / valid labels of the batch.
  void set_loss_seed(double seed);
  // Sum of the losses of one micro-batch, in double.
  double loss_sum(int micro_batch) const;

 private:
  struct Source {
    enum class From : std::uint8_t {
      kFixed,
      kBatch,
      kBoundary,
      kSaved,
      kGradient,
      kRandom,
    };
    From from;
    std::string name;
    at::Tensor fixed;
    bool last = true;  // of the programs that read a saved value
  };
  struct Program {
    Executor executor;
    std::vector<Source> sources;
    std::vector<at::Tensor> targets;  // by executor.accumulated()
  };
  struct MicroBatch {
    Batch batch;
    at::Tensor random_key;
    std::map<std::string, at::Tensor> boundary;
    std::map<std::string, at::Tensor> outputs;
    std::map<std::string, at::Tensor> saved;
    std::map<std::string, std::map<int, at::Tensor>> output_gradients;
    std::map<std::string, at::Tensor> boundary_gradients;
    double loss_sum = 0;

    void forget_inputs() {
      batch.clear();
      boundary.clear();
      saved.clear();
      output_gradients.clear();
    }
  };

  std::vector<Source> sources_of(const graph::Graph& program,
                                 const trace::Constants& own,
                                 const CompiledModel& model,
                                 ParameterStore& parameters) const;
  Program make_program(const graph::Graph& graph, const trace::Constants& own,
                       const CompiledModel& model,
                       ParameterStore& parameters) const;
  std::vector<at::Tensor> gather(const Program& program,
                                 MicroBatch& micro_batch) const;
  at::Tensor gradient_of(const MicroBatch& micro_batch,
                         const std::string& name) const;
  void run_forward(const Program& program, MicroBatch& micro_batch) const;
  void run_backward(
      const Program& program, std::vector<at::Tensor> inputs,
      MicroBatch& micro_batch, bool overwrite,
      const std::function<void(const std::string&)>& on_parameter) const;
  void drop_unneeded(MicroBatch& micro_batch) const;
  MicroBatch& at(int micro_batch);
  const MicroBatch& at(int micro_batch) const;

  int index_;
  c10::Device device_;
  Program forward_, backward_, backward_input_, backward_weight_, evaluation_;
  std::optional<std::string> loss_output_;
  std::map<std::string, graph::TensorType> boundary_types_;
  std::map<std::string, graph::TensorType> output_types_;
  double loss_seed_ = 1;
  std::map<int, MicroBatch> micro_batches_;
};

}  // namespace merak::runtime
