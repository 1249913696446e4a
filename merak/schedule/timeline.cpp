#include "merak/schedule/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "merak/base/error.h"
#include "merak/schedule/text.h"

namespace merak::schedule {

namespace {

using enum ActionType;

int cost_of(const UnitCosts& costs, ActionType type) {
  switch (type) {
    case kForward:
      return costs.forward;
    case kRecompute:
      return costs.recompute;
    case kBackward:
      return costs.backward;
    case kBackwardInput:
      return costs.backward_input;
    case kBackwardWeight:
      return costs.backward_weight;
    default:
      return 0;
  }
}

class Evaluator {
 public:
  Evaluator(const ActionLists& lists, std::span<const Edge> edges,
            const UnitCosts& costs)
      : lists_(lists), edges_(edges), costs_(costs) {
    timeline_.ranks.resize(lists.size());
  }

  Timeline run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
        while (advance(rank)) moved = true;
      }
    }
    for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
      if (next(rank) < lists_[rank].size()) fail_stuck(rank);
    }
    return std::move(timeline_);
  }

 private:
  using Times = std::map<std::pair<int, int>, int>;  // by stage, micro-batch

  // What an action waits for: times are those of forwards or of gradients.
  struct Need {
    const Times* times;
    ActionType type;
    int stage;
  };

  std::size_t next(std::size_t rank) const {
    return timeline_.ranks[rank].size();
  }

  std::vector<Need> needs_of(const Action& action) const {
    std::vector<Need> needs;
    const bool backwards = makes_input_gradients(action.type);
    if (backwards) needs.push_back({&forwards_, kForward, action.stage});
    for (const Edge& edge : edges_) {
      if (action.type == kForward && edge.destination == action.stage) {
        needs.push_back({&forwards_, kForward, edge.source});
      }
      if (backwards && edge.source == action.stage && edge.differentiable) {
        needs.push_back({&gradients_, kBackward, edge.destination});
      }
    }
    return needs;
  }

  // When the values are there that `action` reads; nothing if `missing` is not
  // made yet.
  std::optional<int> ready(const Action& action, Action* missing) const {
    int time = 0;
    for (const Need& need : needs_of(action)) {
      const auto made = need.times->find({need.stage, action.micro_batch});
      if (made == need.times->end()) {
        if (missing) *missing = {need.type, need.stage, action.micro_batch};
        return std::nullopt;
      }
      time = std::max(time, made->second);
    }
    return time;
  }

  bool advance(std::size_t rank) {
    const std::size_t index = next(rank);
    if (index == lists_[rank].size()) return false;
    const Action& action = lists_[rank][index];
    const std::optional<int> readiness = ready(action, nullptr);
    if (!readiness) return false;
    std::vector<Span>& spans = timeline_.ranks[rank];
    const int free = spans.empty() ? 0 : spans.back().finish;
    const int start = std::max(free, *readiness);
    const int finish = start + cost_of(costs_, action.type);
    spans.push_back({action, start, finish});
    timeline_.makespan = std::max(timeline_.makespan, finish);
    const std::pair key(action.stage, action.micro_batch);
    if (action.type == kForward) forwards_.emplace(key, finish);
    if (makes_input_gradients(action.type)) gradients_.emplace(key, finish);
    return true;
  }

  [[noreturn]] void fail_stuck(std::size_t rank) const {
    Action missing;
    ready(lists_[rank][next(rank)], &missing);
    fail_usage("{}: {} never comes before it", locate(lists_, rank, next(rank)),
               to_text(missing));
  }

  const ActionLists& lists_;
  std::span<const Edge> edges_;
  UnitCosts costs_;
  Timeline timeline_;
  Times forwards_;
  Times gradients_;
};

char letter(const Action& action) {
  const int i = action.micro_batch;
  switch (action.type) {
    case kForward:
      return static_cast<char>('0' + i % 10);
    case kRecompute:
      return static_cast<char>('A' + i % 26);
    case kBackwardWeight:
      return '=';
    default:
      return static_cast<char>('a' + i % 26);
  }
}

}  // namespace

Timeline lay_out(const ActionLists& lists, std::span<const Edge> edges,
                 const UnitCosts& costs) {
  return Evaluator(lists, edges, costs).run();
}

std::string draw(const Timeline& timeline) {
  std::string picture;
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    std::string strip(static_cast<std::size_t>(timeline.makespan), '.');
    for (const Span& span : timeline.ranks[rank]) {
      std::fill(strip.begin() + span.start, strip.begin() + span.finish,
                letter(span.action));
    }
    picture += fmt::format("rank {:<2} {}\n", rank, strip);
  }
  return picture;
}

}  // namespace merak::schedule
