#include <algorithm>

#include "merak/base/error.h"
#include "merak/graph/ops/catalogue.h"
#include "merak/partition/methods.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::kNoNode;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// Shards are intervals of the nodes in order, a stack of them: the last one is
// open, collapsing pops. That every node is pushed and popped once keeps the
// whole linear, but for the binary search that finds a node's shard.
class FarthestMinDeps {
 public:
  FarthestMinDeps(const Graph& graph, int shard_count)
      : graph_(graph),
        free_(free_nodes(graph)),
        parameters_(parameters_of_nodes(graph)),
        users_(users_of_values(graph)) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!is_lookup(graph.nodes()[i])) sum += parameters_[i];
    }
    budget_ = sum / shard_count;
  }

  Sharding run() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!free_[i]) visit(static_cast<NodeId>(i));
    }
    if (shards_.size() > 1 && shards_.back().parameters == 0) {
      shards_.pop_back();
    }
    std::vector<NodeId> firsts;
    for (const Shard& shard : shards_) firsts.push_back(shard.first);
    return sharding_from_firsts(graph_, free_, firsts);
  }

 private:
  struct Shard {
    NodeId first = 0;
    std::int64_t parameters = 0;
    NodeId closed_by = kNoNode;
  };

  std::size_t shard_of(NodeId node) const {
    const auto after = std::upper_bound(
        shards_.begin(), shards_.end(), node,
        [](NodeId id, const Shard& shard) { return id < shard.first; });
    return static_cast<std::size_t>(after - shards_.begin()) - 1;
  }

  // The last shard that a reader of the value may be in.
  std::size_t bound(ValueId id) const {
    const std::size_t open = shards_.size() - 1;
    const NodeId producer = graph_.value(id).producer;
    if (producer == kNoNode || free_[index(producer)] ||
        users_[index(id)].size() > kManyUsers) {
      return open;
    }
    const std::size_t shard = shard_of(producer);
    return shards_[shard].closed_by == producer ? shard + 1 : shard;
  }

  void collapse_to(std::size_t target) {
    while (shards_.size() - 1 > target) {
      const std::int64_t parameters = shards_.back().parameters;
      shards_.pop_back();
      shards_.back().parameters += parameters;
      shards_.back().closed_by = kNoNode;
    }
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    std::size_t target = shards_.size() - 1;
    for_each_operand(node, [&](ValueId operand) {
      target = std::min(target, bound(operand));
    });
    collapse_to(target);
    const std::int64_t own = parameters_[index(id)];
    Shard& open = shards_.back();
    open.parameters += own > 0 && is_lookup(node) ? budget_ + 1 : own;
    if (open.parameters > budget_) {
      open.closed_by = id;
      shards_.push_back({id + 1});
    }
  }

  const Graph& graph_;
  const std::vector<bool> free_;
  const std::vector<std::int64_t> parameters_;
  const std::vector<std::vector<NodeId>> users_;
  std::int64_t budget_ = 0;
  std::vector<Shard> shards_ = std::vector<Shard>(1);
};

}  // namespace

int default_shard_count(const Graph& graph) {
  return 2 * count_blocks(graph) + 4;
}

Sharding farthest_min_deps(const Graph& graph, int shard_count) {
  if (shard_count < 1) {
    fail_usage("the number of shards is {}; it must be positive", shard_count);
  }
  return FarthestMinDeps(graph, shard_count).run();
}

}  // namespace merak::partition
