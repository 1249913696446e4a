#include "merak/runtime/compile.h"

#include <algorithm>
#include <map>

#include "merak/base/error.h"
#include "merak/partition/tied_uses.h"
#include "merak/passes/pass.h"
#include "merak/program/rewrite.h"
#include "merak/program/without_dropout.h"

namespace merak::runtime {
namespace {

using graph::Graph;
using graph::InputKind;

// What the batch must be divided by depends on the batch alone, so that it is
// known before the first backward.
Graph extract_count(const Graph& model) {
  const graph::Output* count = model.find_output("count");
  MERAK_CHECK(count != nullptr, "the passes left no 'count'");
  Graph graph = program::extract(model, {*count}, "count");
  for (const graph::Input& input : graph.inputs()) {
    if (input.kind == InputKind::kUser || input.kind == InputKind::kConstant) {
      continue;
    }
    fail_usage(
        "the divisor of the model's loss depends on {} '{}': it must "
        "depend on the batch alone",
        graph::name_of(input.kind), input.name);
  }
  return graph;
}

// Inputs of a kind over all stages, by name.
std::vector<ParameterInfo> collect(const partition::StagedModel& staged,
                                   InputKind kind) {
  std::map<std::string, ParameterInfo> found;
  for (std::size_t s = 0; s < staged.stages.size(); ++s) {
    const Graph& graph = staged.stages[s].graph;
    for (const graph::Input& input : graph.inputs()) {
      if (input.kind != kind) continue;
      const std::string name = partition::parameter_of_use(input.name);
      ParameterInfo& info = found[name];
      const bool again = !info.name.empty();
      info.name = name;
      info.type = graph.value(input.value).type;
      info.trainable = input.trainable;
      if (again) ++info.uses;
      if (info.stages.empty() || info.stages.back() != static_cast<int>(s)) {
        info.stages.push_back(static_cast<int>(s));
      }
    }
  }
  std::vector<ParameterInfo> list;
  for (auto& [name, info] : found) list.push_back(std::move(info));
  return list;
}

}  // namespace

CompiledModel compile_model(const trace::ModuleView& module,
                            const std::vector<trace::NamedType>& inputs,
                            const partition::PartitionOptions& options,
                            c10::Device device) {
  trace::CapturedModel captured = trace::capture_model(module, inputs, device);
  CompiledModel compiled;
  compiled.constants = std::move(captured.constants);
  passes::run_pipeline(captured.graph, passes::training_passes(), {});
  compiled.count = extract_count(captured.graph);
  const graph::Output* loss = captured.graph.find_output("loss_sum");
  MERAK_CHECK(loss != nullptr, "the passes left no 'loss_sum'");
  compiled.model = program::extract(captured.graph, {*loss}, "model");
  compiled.partition = partition::partition_model(compiled.model, options);
  compiled.staged = partition::split_stages(
      compiled.model, compiled.partition.stage_of_node, options.stages);
  partition::separate_tied_uses(compiled.staged, compiled.partition.sharding);
  for (partition::StageGraph& stage : compiled.staged.stages) {
    passes::run_pipeline(stage.graph, passes::stage_passes(), {});
    stage.nodes.clear();  // the passes have other nodes
  }
  compiled.parameters = collect(compiled.staged, InputKind::kParameter);
  compiled.buffers = collect(compiled.staged, InputKind::kBuffer);
  return compiled;
}

StagePrograms compile_stage(const CompiledModel& model, int stage,
                            c10::Device device) {
  const Graph& graph =
      model.staged.stages.at(static_cast<std::size_t>(stage)).graph;
  return {trace::differentiate(graph, device),
          trace::lower(program::without_dropout(graph), device)};
}

}  // namespace merak::runtime
