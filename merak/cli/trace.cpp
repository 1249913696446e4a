#include <fmt/core.h>

#include <functional>
#include <map>
#include <memory>

#include "merak/base/file.h"
#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"
#include "merak/graph/text.h"
#include "merak/runtime/layout_plan.h"
#include "merak/runtime/model_source.h"

namespace merak::cli {
namespace {

struct Named {
  std::string name;
  graph::Graph graph;
};
using Graphs = std::vector<Named>;

Graphs model_level(const runtime::CompiledModel& model, c10::Device) {
  return {{"model", model.model}};
}

// Each shard as a graph of its own: shards are stages of one shard each.
Graphs shards_level(const runtime::CompiledModel& model, c10::Device) {
  const partition::Sharding& sharding = model.partition.sharding;
  partition::StagedModel staged = partition::split_stages(
      model.model, sharding.shard_of_node, sharding.count);
  Graphs graphs;
  for (std::size_t i = 0; i < staged.stages.size(); ++i) {
    graphs.push_back(
        {fmt::format("shard {}", i), std::move(staged.stages[i].graph)});
  }
  return graphs;
}

Graphs stages_level(const runtime::CompiledModel& model, c10::Device) {
  Graphs graphs;
  for (std::size_t i = 0; i < model.staged.stages.size(); ++i) {
    graphs.push_back(
        {fmt::format("stage {}", i), model.staged.stages[i].graph});
  }
  return graphs;
}

Graphs program_level(const runtime::CompiledModel& model, c10::Device device) {
  Graphs graphs;
  for (std::size_t i = 0; i < model.staged.stages.size(); ++i) {
    runtime::StagePrograms programs =
        runtime::compile_stage(model, static_cast<int>(i), device);
    const auto add = [&](graph::Graph& graph, const char* what) {
      graphs.push_back({fmt::format("stage {} {}", i, what), std::move(graph)});
    };
    program::Programs& training = programs.training.graphs;
    add(training.forward, "forward");
    add(training.backward, "backward");
    add(training.backward_input, "backward input");
    add(training.backward_weight, "backward weight");
    add(programs.evaluation.graph, "evaluation");
  }
  return graphs;
}

const std::map<std::string,
               Graphs (*)(const runtime::CompiledModel&, c10::Device)>
    kLevels = {{"model", model_level},
               {"shards", shards_level},
               {"stages", stages_level},
               {"program", program_level}};

std::string text_of(const std::string& level, const Graphs& graphs,
                    bool as_json) {
  if (as_json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, graph] : graphs) {
      list.push_back({{"name", name},
                      {"nodes", graph.nodes().size()},
                      {"inputs", graph.inputs().size()},
                      {"outputs", graph.outputs().size()},
                      {"text", graph::print(graph)}});
    }
    return nlohmann::json({{"level", level}, {"graphs", list}}).dump(2) + "\n";
  }
  std::string text;
  for (const auto& [name, graph] : graphs) {
    text += fmt::format("# {}\n{}", name, graph::print(graph));
  }
  return text;
}

}  // namespace

Action add_trace(CLI::App& app) {
  auto options = std::make_shared<TraceOptions>();
  add_config(app, options->config);
  app.add_option("--level", options->level, "model, shards, stages or program")
      ->check(CLI::IsMember({"model", "shards", "stages", "program"}))
      ->capture_default_str();
  add_output(app, options->output, "file to write instead of printing");
  add_json(app, options->json);
  return [options] { return trace(*options); };
}

int trace(const TraceOptions& options) {
  const config::Config config = options.config.load().config;
  const config::Layout layout =
      config::resolve_layout(config, local_world(0, config));
  const runtime::CompiledModel model =
      runtime::compile_for(config, layout, runtime::load_model(config));
  const std::string text = text_of(
      options.level,
      kLevels.at(options.level)(model, c10::Device(config.train.device)),
      options.json);
  if (options.output.empty()) {
    print(text);
  } else {
    write_file_atomic(options.output, text);
  }
  return 0;
}

}  // namespace merak::cli
