#include "merak/schedule/build.h"

#include <algorithm>
#include <string>

#include "merak/base/error.h"
#include "merak/schedule/add_communication.h"
#include "merak/schedule/add_step.h"
#include "merak/schedule/forward_only.h"
#include "merak/schedule/registry.h"
#include "merak/schedule/text.h"
#include "merak/schedule/validate.h"

namespace merak::schedule {

namespace {

// Stages are made of ranks and chunks, so only a caller of ours can break this.
void check_config(const ScheduleConfig& config) {
  MERAK_CHECK(config.stages > 0 && config.micro_batches > 0 &&
                  config.chunks > 0 && config.stages % config.chunks == 0,
              "{} stages, {} micro-batches, {} chunks", config.stages,
              config.micro_batches, config.chunks);
}

Rules rules_of(const ScheduleConfig& config, std::span<const Edge> edges) {
  return {.stages = config.stages,
          .micro_batches = config.micro_batches,
          .edges = {edges.begin(), edges.end()}};
}

bool has_any(const ActionLists& lists, bool (*wanted)(ActionType)) {
  return std::ranges::any_of(lists, [&](const ActionList& list) {
    return std::ranges::any_of(list, wanted, &Action::type);
  });
}

ActionLists complete(ActionLists lists, const ScheduleConfig& config,
                     std::span<const Edge> edges) {
  if (static_cast<int>(lists.size()) != config.ranks()) {
    fail_usage("it has {} ranks; this run's pipeline has {}", lists.size(),
               config.ranks());
  }
  if (!has_any(lists, is_message)) {
    lists = add_communication(lists, edges, config.stages);
  }
  if (!has_any(lists, ends_step)) add_step(lists);
  validate(lists, rules_of(config, edges));
  return lists;
}

}  // namespace

ActionLists make_schedule(std::string_view name, const ScheduleConfig& config,
                          std::span<const Edge> edges) {
  const Schedule& schedule = find_schedule(name);
  check_config(config);
  if (const std::string refusal = schedule.refusal(config); !refusal.empty()) {
    fail_usage("parallel.schedule is '{}', but {}", name, refusal);
  }
  ActionLists compute;
  for (int rank = 0; rank < config.ranks(); ++rank) {
    compute.push_back(schedule.compute(config, rank));
  }
  return complete(std::move(compute), config, edges);
}

ActionLists schedule_from_text(std::string_view text, std::string_view source,
                               const ScheduleConfig& config,
                               std::span<const Edge> edges) {
  check_config(config);
  ActionLists lists = parse_schedule(text, source);
  try {
    return complete(std::move(lists), config, edges);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    fail_usage("{}: {}", source, error.what());
  }
}

ActionLists make_evaluation(std::span<const int> rank_of_stage,
                            int micro_batches, std::span<const Edge> edges) {
  const int stages = static_cast<int>(rank_of_stage.size());
  ActionLists lists = add_communication(
      forward_only(rank_of_stage, micro_batches), edges, stages);
  validate(lists, {.stages = stages,
                   .micro_batches = micro_batches,
                   .edges = {edges.begin(), edges.end()},
                   .training = false});
  return lists;
}

}  // namespace merak::schedule
