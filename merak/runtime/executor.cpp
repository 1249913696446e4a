#include "merak/runtime/executor.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "merak/base/error.h"
#include "merak/graph/text.h"
#include "merak/trace/tensors.h"

namespace merak::runtime {

using graph::kNoNode;
using graph::kNoValue;
using graph::ValueId;

namespace {

std::size_t at_index(ValueId id) { return static_cast<std::size_t>(id); }

// How often each value is read, by nodes and as an output.
std::vector<int> count_uses(const graph::Graph& graph) {
  std::vector<int> uses(graph.values().size(), 0);
  for (const graph::Node& node : graph.nodes()) {
    for_each_operand(node, [&](ValueId id) { ++uses[at_index(id)]; });
  }
  for (const graph::Output& output : graph.outputs()) {
    ++uses[at_index(output.value)];
  }
  return uses;
}

}  // namespace

// The values of one run.
class Executor::Frame {
 public:
  Frame(const Executor& executor, std::vector<at::Tensor>&& inputs,
        std::span<const GradientTarget> targets,
        const std::function<void(std::size_t)>& on_target)
      : executor_(executor),
        targets_(targets),
        on_target_(on_target),
        values_(executor.program_.values().size()) {
    const auto& formals = executor.program_.inputs();
    MERAK_CHECK(inputs.size() == formals.size() &&
                    targets.size() == executor.targets_.size(),
                "program '{}' takes {} inputs and {} targets, got {} and {}",
                executor.program_.name(), formals.size(),
                executor.targets_.size(), inputs.size(), targets.size());
    for (std::size_t i = 0; i < formals.size(); ++i) {
      values_[at_index(formals[i].value)] = std::move(inputs[i]);
    }
    for (ValueId id : executor.unused_inputs_) values_[at_index(id)].reset();
  }

  void run(std::size_t index) {
    const Step& step = executor_.steps_[index];
    try {
      results_.clear();
      call(step);
    } catch (const c10::Error& error) {
      const graph::Node& node = executor_.program_.nodes()[index];
      fail_runtime("{} in module '{}' failed: {}", node.op, node.module,
                   error.what_without_backtrace());
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      if (step.results[i] == kNoValue) continue;
      values_[at_index(step.results[i])] = std::move(results_[i]);
    }
    if (executor_.options_.check_types) check_types(step);
    if (step.sink && on_target_) on_target_(step.sink->target);
    for (const Addition& addition : step.additions) add(addition);
    for (ValueId id : step.last_used) values_[at_index(id)].reset();
  }

  void add_inputs() {
    for (const Addition& addition : executor_.input_additions_) add(addition);
  }

  std::vector<at::Tensor> outputs() {
    std::vector<at::Tensor> outputs;
    for (ValueId id : executor_.returned_) {
      outputs.push_back(id == kNoValue ? at::Tensor() : values_[at_index(id)]);
    }
    return outputs;
  }

 private:
  void call(const Step& step) {
    const auto tensor = [&](ValueId id) -> const at::Tensor& {
      return values_[at_index(id)];
    };
    if (!step.sink) {
      step.call.run(stack_, tensor);
      trace::OperatorCall::flatten_results(stack_, results_);
      return;
    }
    step.call.load(stack_, tensor);
    GradientTarget target = targets_[step.sink->target];
    if (step.sink->transposed) target.buffer = target.buffer.t();
    step.sink->rule->run(stack_, target, results_);
  }

  void add(const Addition& addition) {
    add_to_target(values_[at_index(addition.value)], targets_[addition.target]);
    if (on_target_) on_target_(addition.target);
  }

  void check_types(const Step& step) const {
    for (ValueId id : step.results) {
      if (id == kNoValue || !values_[at_index(id)].defined()) continue;
      const graph::TensorType expected = executor_.program_.value(id).type;
      const graph::TensorType found = trace::type_of(values_[at_index(id)]);
      MERAK_CHECK(expected == found, "{} gave {}, recorded was {}",
                  trace::op_name(step.call.op()), graph::print(found),
                  graph::print(expected));
    }
  }

  const Executor& executor_;
  std::span<const GradientTarget> targets_;
  const std::function<void(std::size_t)>& on_target_;
  std::vector<at::Tensor> values_;
  std::vector<c10::IValue> stack_;
  std::vector<at::Tensor> results_;
};

Executor::Executor(graph::Graph program, ExecutorOptions options)
    : program_(std::move(program)), options_(std::move(options)) {
  for (const graph::Node& node : program_.nodes()) {
    steps_.push_back({trace::OperatorCall(node, options_.device),
                      node.results,
                      {},
                      std::nullopt,
                      {}});
  }
  plan_targets(options_.accumulated);
  plan_frees();
}

void Executor::plan_targets(const std::vector<std::string>& accumulated) {
  const std::vector<int> uses = count_uses(program_);
  for (const graph::Output& output : program_.outputs()) {
    const bool wanted = std::find(accumulated.begin(), accumulated.end(),
                                  output.name) != accumulated.end();
    returned_.push_back(wanted ? kNoValue : output.value);
    if (!wanted) continue;
    const std::size_t target = targets_.size();
    targets_.push_back(output.name);
    if (plan_sink(output.value, target, uses)) continue;
    const graph::NodeId producer = program_.value(output.value).producer;
    auto& additions = producer == kNoNode
                          ? input_additions_
                          : steps_[at_index(producer)].additions;
    additions.push_back({output.value, target});
  }
}

// A gradient is sunk into the step that makes it, if nothing else reads it; a
// transposition in between is seen through.
bool Executor::plan_sink(ValueId value, std::size_t target,
                         const std::vector<int>& uses) {
  bool transposed = false;
  graph::NodeId producer = program_.value(value).producer;
  if (producer != kNoNode && program_.node(producer).op == "aten.t" &&
      uses[at_index(value)] == 1) {
    transposed = true;
    value = std::get<ValueId>(program_.node(producer).arguments.front());
    producer = program_.value(value).producer;
  }
  if (producer == kNoNode || uses[at_index(value)] != 1) {
    return false;
  }
  const SinkRule* rule =
      find_sink(program_.node(producer).op,
                static_cast<std::size_t>(program_.value(value).result));
  Step& step = steps_[at_index(producer)];
  if (rule == nullptr || step.sink) return false;
  step.sink = SinkPlan{rule, target, transposed};
  return true;
}

void Executor::plan_frees() {
  std::vector<bool> seen(program_.values().size(), false);
  for (ValueId id : returned_) {
    if (id != kNoValue) seen[at_index(id)] = true;
  }
  for (const Addition& addition : input_additions_) {
    seen[at_index(addition.value)] = true;
  }
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const auto last_use = [&](ValueId id) {
      if (seen[at_index(id)]) return;
      seen[at_index(id)] = true;
      steps_[i].last_used.push_back(id);
    };
    for (ValueId id : steps_[i].results) {
      if (id != kNoValue) last_use(id);
    }
    for_each_operand(program_.nodes()[i], last_use);
  }
  for (const graph::Input& input : program_.inputs()) {
    if (!seen[at_index(input.value)]) unused_inputs_.push_back(input.value);
  }
}

std::vector<at::Tensor> Executor::run(
    std::vector<at::Tensor> inputs, std::span<const GradientTarget> targets,
    const std::function<void(std::size_t)>& on_target) const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Frame frame(*this, std::move(inputs), targets, on_target);
  for (std::size_t i = 0; i < steps_.size(); ++i) frame.run(i);
  frame.add_inputs();
  return frame.outputs();
}

}  // namespace merak::runtime
