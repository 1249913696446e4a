#include <algorithm>

#include "merak/base/error.h"
#include "merak/partition/methods.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;

// Whether `name` is a run of whole parts of the path.
bool names(std::string_view name, std::string_view path) {
  for (std::size_t at = path.find(name); at != std::string_view::npos;
       at = path.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || path[at - 1] == '.';
    const bool ends = end == path.size() || path[end] == '.';
    if (starts && ends) return true;
  }
  return false;
}

// Which nodes begin a shard, the first bound node always being one.
class Cuts {
 public:
  void first_node(NodeId node) {
    if (firsts_.empty()) firsts_.push_back(node);
  }
  void cut_before(NodeId node) {
    if (firsts_.back() != node) firsts_.push_back(node);
  }
  std::vector<NodeId> take() {
    if (firsts_.empty()) firsts_.push_back(0);
    return std::move(firsts_);
  }

 private:
  std::vector<NodeId> firsts_;
};

std::vector<NodeId> cut_at_names(const Graph& graph,
                                 const std::vector<bool>& free,
                                 std::vector<std::string> points) {
  Cuts cuts;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (free[i]) continue;
    const auto id = static_cast<NodeId>(i);
    cuts.first_node(id);
    const auto used = std::find_if(
        points.begin(), points.end(), [&](const std::string& point) {
          return names(point, graph.nodes()[i].module);
        });
    if (used == points.end()) continue;
    points.erase(used);
    cuts.cut_before(id);
  }
  if (!points.empty()) {
    fail_usage(
        "parallel.split_points names '{}', which is no module of the model; "
        "its modules are shown by `merak trace --level model`",
        points.front());
  }
  return cuts.take();
}

std::vector<NodeId> cut_at_blocks(const Graph& graph,
                                  const std::vector<bool>& free) {
  Cuts cuts;
  std::string_view current;
  bool any_block = false;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (free[i]) continue;
    const auto id = static_cast<NodeId>(i);
    cuts.first_node(id);
    if (node.module.empty()) continue;  // unknown: goes with its neighbours
    const std::string_view block = block_of(node.module);
    any_block = any_block || !block.empty();
    if (block != current) cuts.cut_before(id);
    current = block;
  }
  if (!any_block) {
    fail_usage(
        "parallel.sharding is layer_split, but the model has no repeated "
        "modules; name some in parallel.split_points, or use "
        "farthest_min_deps");
  }
  return cuts.take();
}

}  // namespace

Sharding layer_split(const Graph& graph,
                     const std::vector<std::string>& split_points) {
  const std::vector<bool> free = free_nodes(graph);
  return sharding_from_firsts(graph, free,
                              split_points.empty()
                                  ? cut_at_blocks(graph, free)
                                  : cut_at_names(graph, free, split_points));
}

}  // namespace merak::partition
