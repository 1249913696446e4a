#include "merak/engine/lanes.h"

#include <algorithm>
#include <utility>

#include "merak/base/error.h"

namespace merak::engine {
namespace {

dist::Lane lane(std::size_t edge, int source_rank, int destination_rank,
                bool gradient) {
  const int channel = 2 * static_cast<int>(edge);
  if (gradient) return {destination_rank, source_rank, channel + 1};
  return {source_rank, destination_rank, channel};
}

int rank_at(std::span<const int> rank_of_stage, int stage) {
  return rank_of_stage[static_cast<std::size_t>(stage)];
}

// The stages at the two ends of a message's edge, in the model's order.
std::pair<int, int> ends(const schedule::Action& message) {
  return std::minmax({message.stage, message.peer});
}

}  // namespace

std::vector<dist::Lane> lanes(std::span<const schedule::Edge> edges,
                              std::span<const int> rank_of_stage) {
  std::vector<dist::Lane> all;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const int source = rank_at(rank_of_stage, edges[i].source);
    const int destination = rank_at(rank_of_stage, edges[i].destination);
    if (source == destination) continue;
    all.push_back(lane(i, source, destination, false));
    if (edges[i].differentiable) {
      all.push_back(lane(i, source, destination, true));
    }
  }
  return all;
}

dist::Lane lane_of(const schedule::Action& message,
                   std::span<const schedule::Edge> edges,
                   std::span<const int> rank_of_stage) {
  const auto [source, destination] = ends(message);
  const auto found =
      std::ranges::find_if(edges, [&](const schedule::Edge& edge) {
        return edge.source == source && edge.destination == destination;
      });
  MERAK_CHECK(found != edges.end(), "no edge for the {}",
              schedule::describe(message));
  return lane(static_cast<std::size_t>(found - edges.begin()),
              rank_at(rank_of_stage, source),
              rank_at(rank_of_stage, destination),
              schedule::is_gradient_message(message.type));
}

}  // namespace merak::engine
