#include "merak/schedule/edge.h"

#include <set>
#include <utility>

#include "merak/base/error.h"
#include "merak/schedule/text.h"

namespace merak::schedule {

std::vector<Edge> chain(int stages) {
  std::vector<Edge> edges;
  for (int stage = 1; stage < stages; ++stage) {
    edges.push_back({.source = stage - 1, .destination = stage});
  }
  return edges;
}

std::vector<int> rank_of_stages(const ActionLists& lists, int stages) {
  std::vector<int> ranks(static_cast<std::size_t>(stages), kNone);
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    for (std::size_t index = 0; index < lists[rank].size(); ++index) {
      const int stage = lists[rank][index].stage;
      if (stage == kNone) continue;
      if (stage < 0 || stage >= stages) {
        fail_usage("{}: there is no stage {}; stages are 0 to {}",
                   locate(lists, rank, index), stage, stages - 1);
      }
      int& owner = ranks[static_cast<std::size_t>(stage)];
      if (owner == kNone) owner = static_cast<int>(rank);
      if (owner != static_cast<int>(rank)) {
        fail_usage("{}: stage {} is on rank {} already; a stage has one rank",
                   locate(lists, rank, index), stage, owner);
      }
    }
  }
  for (int stage = 0; stage < stages; ++stage) {
    if (ranks[static_cast<std::size_t>(stage)] == kNone) {
      fail_usage("stage {} is on no rank; each of the {} stages needs one",
                 stage, stages);
    }
  }
  return ranks;
}

void check_edges(std::span<const Edge> edges, int stages) {
  std::set<std::pair<int, int>> seen;
  for (const Edge& edge : edges) {
    MERAK_CHECK(0 <= edge.source && edge.source < edge.destination &&
                    edge.destination < stages,
                "edge {} -> {} of {} stages", edge.source, edge.destination,
                stages);
    MERAK_CHECK(seen.insert({edge.source, edge.destination}).second,
                "edge {} -> {} twice", edge.source, edge.destination);
  }
}

}  // namespace merak::schedule
