#include "merak/runtime/layout_plan.h"

#include <algorithm>

#include "merak/base/error.h"
#include "merak/schedule/build.h"
#include "merak/schedule/registry.h"

namespace merak::runtime {
namespace {

partition::PartitionOptions partition_options(const config::Config& config,
                                              const config::Layout& layout) {
  partition::PartitionOptions options;
  options.stages = static_cast<int>(layout.pipeline * config.parallel.chunks);
  options.sharding =
      partition::sharding_method_from_name(config.parallel.sharding);
  options.method = partition::stage_method_from_name(config.parallel.partition);
  options.split_points = config.parallel.split_points;
  for (const std::int64_t first : config.parallel.custom_partition) {
    options.custom.push_back(static_cast<int>(first));
  }
  return options;
}

// A longer sample has positions that the model lacks.
void check_sequence_length(const config::Config& config,
                           const TrainableModel& model) {
  if (model.max_sequence_length == 0 ||
      config.data.sequence_length <= model.max_sequence_length) {
    return;
  }
  fail_usage(
      "data.sequence_length is {}; the model has positions for at most {} "
      "tokens: take that, or a model with more",
      config.data.sequence_length, model.max_sequence_length);
}

}  // namespace

CompiledModel compile_for(const config::Config& config,
                          const config::Layout& layout,
                          const TrainableModel& model) {
  check_sequence_length(config, model);
  const config::Batch batch = config::resolve_batch(config, layout);
  return compile_model(
      model.view,
      model.inputs(batch.micro_batch_size, config.data.sequence_length),
      partition_options(config, layout), c10::Device(config.train.device));
}

std::string schedule_of(const config::Config& config) {
  if (config.parallel.schedule != "auto") return config.parallel.schedule;
  return std::string(schedule::default_schedule().name);
}

std::vector<schedule::Edge> edges_of(const CompiledModel& model) {
  std::vector<schedule::Edge> list;
  for (const partition::Edge& edge : model.staged.edges) {
    const bool differentiable = std::ranges::any_of(
        edge.values, [](const auto& value) { return value.gradient; });
    list.push_back({edge.source, edge.destination, differentiable});
  }
  return list;
}

schedule::ActionLists actions_for(const config::Config& config,
                                  const config::Layout& layout,
                                  const CompiledModel& model) {
  const config::Batch batch = config::resolve_batch(config, layout);
  return schedule::make_schedule(schedule_of(config),
                                 {static_cast<int>(model.staged.stages.size()),
                                  static_cast<int>(batch.micro_batches),
                                  static_cast<int>(config.parallel.chunks)},
                                 edges_of(model));
}

}  // namespace merak::runtime
