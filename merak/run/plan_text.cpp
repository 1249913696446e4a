#include "merak/run/plan_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "merak/runtime/layout_plan.h"
#include "merak/schedule/edge.h"

namespace merak::run {
namespace {

struct StageFigures {
  int rank;  // pipeline coordinate
  int first_shard, last_shard;
  std::int64_t parameters, bytes;
};

std::vector<StageFigures> figures(const runtime::Trainer& trainer) {
  const runtime::CompiledModel& model = trainer.compiled();
  const int stages = static_cast<int>(model.staged.stages.size());
  const auto ranks = schedule::rank_of_stages(trainer.actions(), stages);
  const auto& first = model.partition.first_shard;
  std::vector<StageFigures> list;
  for (int s = 0; s < stages; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const int end =
        i + 1 < first.size() ? first[i + 1] : model.partition.sharding.count;
    list.push_back({ranks[i], first[i], end - 1, 0, 0});
  }
  for (const runtime::ParameterInfo& info : model.parameters) {
    std::int64_t count = 1;
    for (const std::int64_t size : info.type.shape) count *= size;
    for (const int stage : info.stages) {
      StageFigures& figure = list[static_cast<std::size_t>(stage)];
      figure.parameters += count;
      figure.bytes +=
          count * static_cast<std::int64_t>(size_of(info.type.dtype));
    }
  }
  return list;
}

// 8123392 -> "8,123,392".
std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

nlohmann::ordered_json plan_json(const config::Config& config,
                                 const runtime::Trainer& trainer) {
  const config::Layout& layout = trainer.layout();
  const config::Batch batch = config::resolve_batch(config, layout);
  nlohmann::ordered_json plan = {{"layout",
                                  {{"data", layout.data},
                                   {"tensor", layout.tensor},
                                   {"pipeline", layout.pipeline}}},
                                 {"chunks", config.parallel.chunks},
                                 {"schedule", runtime::schedule_of(config)},
                                 {"micro_batch_size", batch.micro_batch_size},
                                 {"micro_batches", batch.micro_batches},
                                 {"stages", nlohmann::ordered_json::array()}};
  for (const StageFigures& stage : figures(trainer)) {
    plan["stages"].push_back({{"pipeline_rank", stage.rank},
                              {"first_shard", stage.first_shard},
                              {"last_shard", stage.last_shard},
                              {"parameters", stage.parameters},
                              {"parameter_bytes", stage.bytes}});
  }
  return plan;
}

std::string plan_text(const config::Config& config,
                      const runtime::Trainer& trainer) {
  const config::Layout& layout = trainer.layout();
  const config::Batch batch = config::resolve_batch(config, layout);
  std::string text = fmt::format(
      "{} rank{}: pipeline {} x data {} x tensor {}; {}, {} micro-batch{} of "
      "{} a step\n",
      layout.world(), layout.world() == 1 ? "" : "s", layout.pipeline,
      layout.data, layout.tensor, runtime::schedule_of(config),
      batch.micro_batches, batch.micro_batches == 1 ? "" : "es",
      batch.micro_batch_size);
  int number = 0;
  for (const StageFigures& stage : figures(trainer)) {
    text += fmt::format(
        "  stage {:<3} pp{:<3} shards {:>3} to {:<3} {:>15} parameters\n",
        number++, stage.rank, stage.first_shard, stage.last_shard,
        grouped(stage.parameters));
  }
  return text;
}

}  // namespace merak::run
