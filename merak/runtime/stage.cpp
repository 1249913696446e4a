#include "merak/runtime/stage.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <set>

#include "merak/base/error.h"
#include "merak/program/split.h"
#include "merak/trace/tensors.h"

namespace merak::runtime {
namespace {

using graph::Graph;
using graph::InputKind;

constexpr const char* kLoss = "loss_sum";

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

// A value that one program leaves for another of the same micro-batch.
bool is_kept(const std::string& name) {
  return starts_with(name, program::kSavedPrefix) ||
         starts_with(name, program::kStashPrefix);
}

std::string without_prefix(const std::string& name) {
  return name.substr(std::string(program::kGradientPrefix).size());
}

// The outputs of a program that are gradients of the model's parameters.
std::vector<std::string> parameter_gradients(const Graph& program,
                                             const Graph& stage) {
  std::vector<std::string> names;
  for (const graph::Output& output : program.outputs()) {
    if (!starts_with(output.name, program::kGradientPrefix)) continue;
    if (stage.find_input(InputKind::kParameter, without_prefix(output.name))) {
      names.push_back(output.name);
    }
  }
  return names;
}

at::TensorOptions tensor_options(const graph::TensorType& type,
                                 c10::Device device) {
  return at::TensorOptions()
      .dtype(trace::to_scalar_type(type.dtype))
      .device(device);
}

}  // namespace

std::vector<std::string> gradient_order(const Graph& stage,
                                        const Graph& backward) {
  std::vector<std::pair<graph::NodeId, std::string>> order;
  for (const graph::Output& output : backward.outputs()) {
    const std::string input = without_prefix(output.name);
    if (stage.find_input(InputKind::kParameter, input) == nullptr) continue;
    order.emplace_back(backward.value(output.value).producer, input);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (auto& [node, name] : order) names.push_back(std::move(name));
  for (const graph::Input& input : stage.inputs()) {
    if (input.kind == InputKind::kParameter && input.trainable &&
        std::find(names.begin(), names.end(), input.name) == names.end()) {
      names.push_back(input.name);
    }
  }
  return names;
}

Stage::Stage(const CompiledModel& model, int index, StagePrograms programs,
             ParameterStore& parameters, c10::Device device)
    : index_(index), device_(device) {
  const Graph& stage =
      model.staged.stages.at(static_cast<std::size_t>(index)).graph;
  for (const graph::Input& input : stage.inputs()) {
    if (input.kind != InputKind::kBoundary) continue;
    boundary_types_[input.name] = stage.value(input.value).type;
  }
  for (const graph::Output& output : stage.outputs()) {
    if (output.name == kLoss) loss_output_ = output.name;
    output_types_[output.name] = stage.value(output.value).type;
  }
  const program::Programs& graphs = programs.training.graphs;
  const auto make = [&](const Graph& graph, const trace::Constants& own) {
    return make_program(graph, own, model, parameters);
  };
  forward_ = make(graphs.forward, programs.training.constants);
  backward_ = make(graphs.backward, programs.training.constants);
  backward_input_ = make(graphs.backward_input, programs.training.constants);
  backward_weight_ = make(graphs.backward_weight, programs.training.constants);
  evaluation_ = make(programs.evaluation.graph, programs.evaluation.constants);
  for (Source& source : backward_input_.sources) {
    source.last = graphs.backward_weight.find_input(InputKind::kBoundary,
                                                    source.name) == nullptr;
  }
}

Stage::Program Stage::make_program(const Graph& graph,
                                   const trace::Constants& own,
                                   const CompiledModel& model,
                                   ParameterStore& parameters) const {
  const Graph& stage =
      model.staged.stages.at(static_cast<std::size_t>(index_)).graph;
  ExecutorOptions options;
  options.device = device_;
  options.accumulated = parameter_gradients(graph, stage);
  Program program{
      Executor(graph, options), sources_of(graph, own, model, parameters), {}};
  for (const std::string& name : program.executor.accumulated()) {
    program.targets.push_back(parameters.gradient(without_prefix(name)));
  }
  return program;
}

std::vector<Stage::Source> Stage::sources_of(const Graph& program,
                                             const trace::Constants& own,
                                             const CompiledModel& model,
                                             ParameterStore& parameters) const {
  using From = Source::From;
  std::vector<Source> sources;
  for (const graph::Input& input : program.inputs()) {
    Source source{From::kFixed, input.name, {}};
    switch (input.kind) {
      case InputKind::kParameter:
        source.fixed = parameters.value(input.name);
        break;
      case InputKind::kBuffer:
        source.fixed = parameters.buffers().at(input.name);
        break;
      case InputKind::kConstant: {
        const auto found = own.find(input.name);
        source.fixed =
            found != own.end() ? found->second : model.constants.at(input.name);
        break;
      }
      case InputKind::kUser:
        source.from = From::kBatch;
        break;
      case InputKind::kBoundary:
        source.from = is_kept(input.name) ? From::kSaved : From::kBoundary;
        break;
      case InputKind::kGradient:
        source.from = From::kGradient;
        source.name = without_prefix(input.name);
        break;
      case InputKind::kRandom:
        source.from = From::kRandom;
        break;
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

std::vector<at::Tensor> Stage::gather(const Program& program,
                                      MicroBatch& micro_batch) const {
  using From = Source::From;
  std::vector<at::Tensor> inputs;
  inputs.reserve(program.sources.size());
  for (const Source& source : program.sources) {
    switch (source.from) {
      case From::kFixed:
        inputs.push_back(source.fixed);
        break;
      case From::kBatch:
        inputs.push_back(micro_batch.batch.at(source.name));
        break;
      case From::kBoundary:
        inputs.push_back(micro_batch.boundary.at(source.name));
        break;
      case From::kSaved:
        inputs.push_back(micro_batch.saved.at(source.name));
        if (source.last) micro_batch.saved.erase(source.name);
        break;
      case From::kGradient:
        inputs.push_back(gradient_of(micro_batch, source.name));
        break;
      case From::kRandom:
        inputs.push_back(micro_batch.random_key);
        break;
    }
  }
  return inputs;
}

at::Tensor Stage::gradient_of(const MicroBatch& micro_batch,
                              const std::string& name) const {
  const graph::TensorType& type = output_types_.at(name);
  if (name == kLoss) {
    return at::full({}, loss_seed_, tensor_options(type, device_));
  }
  const auto found = micro_batch.output_gradients.find(name);
  MERAK_CHECK(found != micro_batch.output_gradients.end(),
              "stage {} has no gradient of '{}'", index_, name);
  at::Tensor sum;
  for (const auto& [source, gradient] : found->second) {
    sum = sum.defined() ? sum.add(gradient) : gradient;
  }
  return sum;
}

void Stage::load(int micro_batch, const Batch& batch,
                 const BatchPosition& position) {
  MicroBatch& state = micro_batches_[micro_batch];
  state.batch = batch;
  state.random_key = at::tensor(
      {position.seed, position.step, position.first_sample, position.samples},
      at::kLong);
}

void Stage::set_boundary(int micro_batch, const std::string& name,
                         at::Tensor value) {
  at(micro_batch).boundary[name] = std::move(value);
}

void Stage::run_forward(const Program& program, MicroBatch& micro_batch) const {
  std::vector<at::Tensor> outputs =
      program.executor.run(gather(program, micro_batch));
  const auto& formals = program.executor.program().outputs();
  for (std::size_t i = 0; i < formals.size(); ++i) {
    const std::string& name = formals[i].name;
    if (is_kept(name)) {
      micro_batch.saved[name] = std::move(outputs[i]);
    } else if (name == kLoss) {
      micro_batch.loss_sum = outputs[i].item<double>();
    } else {
      micro_batch.outputs[name] = outputs[i].contiguous();
    }
  }
}

void Stage::forward(int micro_batch) {
  MicroBatch& state = at(micro_batch);
  run_forward(forward_, state);
  drop_unneeded(state);
}

void Stage::evaluate(int micro_batch) {
  run_forward(evaluation_, at(micro_batch));
}

// Lets go of inputs that only the forward reads.
void Stage::drop_unneeded(MicroBatch& micro_batch) const {
  std::set<std::string> boundary, batch;
  for (const Source& source : backward_.sources) {
    if (source.from == Source::From::kBoundary) boundary.insert(source.name);
    if (source.from == Source::From::kBatch) batch.insert(source.name);
  }
  std::erase_if(micro_batch.boundary, [&](const auto& item) {
    return boundary.count(item.first) == 0;
  });
  std::erase_if(micro_batch.batch,
                [&](const auto& item) { return batch.count(item.first) == 0; });
}

at::Tensor Stage::output(int micro_batch, const std::string& name) const {
  return at(micro_batch).outputs.at(name);
}

void Stage::release_outputs(int micro_batch) {
  at(micro_batch).outputs.clear();
}

void Stage::set_output_gradient(int micro_batch, const std::string& name,
                                int source, at::Tensor gradient) {
  at(micro_batch).output_gradients[name][source] = std::move(gradient);
}

void Stage::run_backward(
    const Program& program, std::vector<at::Tensor> inputs,
    MicroBatch& micro_batch, bool overwrite,
    const std::function<void(const std::string&)>& on_parameter) const {
  const Executor& executor = program.executor;
  std::vector<GradientTarget> targets;
  for (const at::Tensor& buffer : program.targets) {
    targets.push_back({buffer, overwrite});
  }
  const auto on_target = [&](std::size_t target) {
    if (on_parameter)
      on_parameter(without_prefix(executor.accumulated()[target]));
  };
  std::vector<at::Tensor> outputs =
      executor.run(std::move(inputs), targets, on_target);
  const auto& formals = executor.program().outputs();
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (!outputs[i].defined()) continue;
    if (is_kept(formals[i].name)) {
      micro_batch.saved[formals[i].name] = std::move(outputs[i]);
    } else {
      micro_batch.boundary_gradients[without_prefix(formals[i].name)] =
          outputs[i].contiguous();
    }
  }
}

// Inputs are handed over before the program runs, so that it frees each one
// after its last use.
void Stage::backward(
    int micro_batch, bool overwrite,
    const std::function<void(const std::string&)>& on_parameter) {
  MicroBatch& state = at(micro_batch);
  std::vector<at::Tensor> inputs = gather(backward_, state);
  state.forget_inputs();
  run_backward(backward_, std::move(inputs), state, overwrite, on_parameter);
}

void Stage::backward_input(int micro_batch) {
  MicroBatch& state = at(micro_batch);
  run_backward(backward_input_, gather(backward_input_, state), state,
               /*overwrite=*/false, {});
}

void Stage::backward_weight(
    int micro_batch, bool overwrite,
    const std::function<void(const std::string&)>& on_parameter) {
  MicroBatch& state = at(micro_batch);
  std::vector<at::Tensor> inputs = gather(backward_weight_, state);
  state.forget_inputs();
  run_backward(backward_weight_, std::move(inputs), state, overwrite,
               on_parameter);
}

at::Tensor Stage::boundary_gradient(int micro_batch,
                                    const std::string& name) const {
  const auto& gradients = at(micro_batch).boundary_gradients;
  const auto found = gradients.find(name);
  if (found != gradients.end()) return found->second;
  const graph::TensorType& type = boundary_types_.at(name);
  return at::zeros(type.shape, tensor_options(type, device_));
}

void Stage::forget(int micro_batch) { micro_batches_.erase(micro_batch); }

void Stage::set_loss_seed(double seed) { loss_seed_ = seed; }

double Stage::loss_sum(int micro_batch) const {
  return at(micro_batch).loss_sum;
}

Stage::MicroBatch& Stage::at(int micro_batch) {
  const auto found = micro_batches_.find(micro_batch);
  MERAK_CHECK(found != micro_batches_.end(),
              "stage {} does not hold micro-batch {}", index_, micro_batch);
  return found->second;
}

const Stage::MicroBatch& Stage::at(int micro_batch) const {
  return const_cast<Stage*>(this)->at(micro_batch);
}

}  // namespace merak::runtime
