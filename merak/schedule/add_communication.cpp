#include "merak/schedule/add_communication.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "merak/base/error.h"
#include "merak/schedule/timeline.h"

namespace merak::schedule {

namespace {

// A place in the common order: an action of one rank, or a message of two.
struct Event {
  int time = 0;
  Action action;  // of a message: the send
  int rank = 0;
  int receiver = kNone;

  // At one time messages come first: compute that starts then may read them.
  auto place() const { return std::tuple(time, !is_message(action.type)); }
};

// What an action makes for other stages, as sends.
std::vector<Action> sends_of(const Action& action,
                             std::span<const Edge> edges) {
  std::vector<Action> sends;
  for (const Edge& edge : edges) {
    if (action.type == ActionType::kForward && edge.source == action.stage) {
      sends.push_back(
          send_activation(action.stage, action.micro_batch, edge.destination));
    }
    if (makes_input_gradients(action.type) &&
        edge.destination == action.stage && edge.differentiable) {
      sends.push_back(
          send_gradient(action.stage, action.micro_batch, edge.source));
    }
  }
  return sends;
}

std::vector<Event> events_of(const Timeline& timeline,
                             std::span<const Edge> edges,
                             const std::vector<int>& rank_of_stage) {
  std::vector<Event> events;
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    const int rank = static_cast<int>(r);
    for (const Span& span : timeline.ranks[r]) {
      MERAK_CHECK(!is_message(span.action.type), "rank {} has messages already",
                  rank);
      events.push_back({span.start, span.action, rank});
      for (const Action& send : sends_of(span.action, edges)) {
        const int receiver = rank_of_stage[static_cast<std::size_t>(send.peer)];
        if (receiver == rank) continue;
        events.push_back({span.finish, send, rank, receiver});
      }
    }
  }
  // Stable: a rank's actions of one time stay in order.
  std::ranges::stable_sort(events, {}, &Event::place);
  return events;
}

}  // namespace

ActionLists add_communication(const ActionLists& compute,
                              std::span<const Edge> edges, int stages) {
  check_edges(edges, stages);
  const std::vector<int> rank_of_stage = rank_of_stages(compute, stages);
  const Timeline timeline = lay_out(compute, edges);
  ActionLists lists(compute.size());
  for (const Event& event : events_of(timeline, edges, rank_of_stage)) {
    lists[static_cast<std::size_t>(event.rank)].push_back(event.action);
    if (event.receiver != kNone) {
      lists[static_cast<std::size_t>(event.receiver)].push_back(
          other_end(event.action));
    }
  }
  return lists;
}

}  // namespace merak::schedule
