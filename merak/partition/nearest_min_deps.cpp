#include <algorithm>
#include <cmath>
#include <limits>

#include "merak/base/error.h"
#include "merak/graph/ops/catalogue.h"
#include "merak/partition/methods.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::kNoNode;
using graph::kNoValue;
using graph::NodeId;
using graph::ValueId;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// A node that is not free, where a shard may end.
struct Place {
  NodeId node = kNoNode;
  double work = 0;        // of all nodes up to this one
  double live_bytes = 0;  // that cross from here to later nodes
};

// live[i]: bytes of values made by bound nodes up to i and read behind i.
std::vector<double> live_bytes(const Graph& graph,
                               const std::vector<bool>& free) {
  std::vector<double> change(graph.nodes().size() + 1);
  const auto users = users_of_values(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (free[i]) continue;
    for (ValueId id : graph.nodes()[i].results) {
      if (id == kNoValue || users[index(id)].empty()) continue;
      const auto bytes = static_cast<double>(graph.value(id).type.bytes());
      change[i] += bytes;
      change[index(users[index(id)].back())] -= bytes;
    }
  }
  for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  return change;
}

std::vector<Place> places(const Graph& graph, const std::vector<bool>& free) {
  const std::vector<double> live = live_bytes(graph, free);
  std::vector<Place> places;
  double work = 0;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (free[i]) continue;
    work += flops(graph, graph.nodes()[i]);
    places.push_back({static_cast<NodeId>(i), work, live[i]});
  }
  return places;
}

// The best end of a shard that begins behind `done` of the work, among
// places[begin, end): least live bytes, then nearest to the share.
std::size_t choose(const std::vector<Place>& places, std::size_t begin,
                   std::size_t end, double done, double share) {
  std::size_t best = begin;
  double best_distance = std::numeric_limits<double>::infinity();
  bool best_in_window = false;
  for (std::size_t i = begin; i < end; ++i) {
    const double distance = std::abs(places[i].work - done - share);
    const bool in_window = distance <= share / 2;
    bool better = distance < best_distance;
    if (in_window != best_in_window) {
      better = in_window;
    } else if (in_window && places[i].live_bytes != places[best].live_bytes) {
      better = places[i].live_bytes < places[best].live_bytes;
    }
    if (!better) {
      if (places[i].work > done + 1.5 * share) break;
      continue;
    }
    best = i;
    best_distance = distance;
    best_in_window = in_window;
  }
  return best;
}

}  // namespace

Sharding nearest_min_deps(const Graph& graph, int shard_count) {
  if (shard_count < 1) {
    fail_usage("the number of shards is {}; it must be positive", shard_count);
  }
  const std::vector<bool> free = free_nodes(graph);
  const std::vector<Place> all = places(graph, free);
  std::vector<NodeId> firsts{all.empty() ? 0 : all.front().node};
  double done = 0;
  std::size_t begin = 0;
  for (int left = shard_count; left > 1 && begin + 1 < all.size(); --left) {
    const double share = (all.back().work - done) / left;
    // Each shard behind this one needs a node of its own.
    const std::size_t reserve =
        std::min(static_cast<std::size_t>(left - 1), all.size() - begin - 1);
    const std::size_t last =
        choose(all, begin, all.size() - reserve, done, share);
    done = all[last].work;
    begin = last + 1;
    firsts.push_back(all[begin].node);
  }
  return sharding_from_firsts(graph, free, firsts);
}

}  // namespace merak::partition
