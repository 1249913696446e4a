#include "merak/partition/sharding.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "merak/base/error.h"
#include "merak/graph/gradient_flow.h"
#include "merak/graph/ops/catalogue.h"

namespace merak::partition {
namespace {

using graph::Graph;
using graph::InputKind;
using graph::kNoNode;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

bool all_digits(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// From the last node to the first: a free node goes with its first reader, or
// to the end if only the caller reads it.
void place_free_nodes(const Graph& graph, const std::vector<bool>& free,
                      Sharding& sharding) {
  const int last = sharding.count - 1;
  std::vector<int> wanted(graph.values().size(), last);  // by value
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    int& shard = sharding.shard_of_node[i];
    if (free[i]) {
      shard = last;
      for (ValueId result : node.results) {
        if (result != kNoValue) shard = std::min(shard, wanted[index(result)]);
      }
    }
    for_each_operand(node, [&](ValueId id) {
      wanted[index(id)] = std::min(wanted[index(id)], shard);
    });
  }
}

// By value: parameters, and views of nothing else. A module may see its weight
// transposed, say: such a view belongs where it is read, or the weight would be
// sent from one stage to another, and a cut could fall behind every view.
std::vector<bool> views_of_parameters(const Graph& graph) {
  std::vector<bool> views(graph.values().size());
  for (const graph::Input& input : graph.inputs()) {
    views[index(input.value)] = input.kind == InputKind::kParameter;
  }
  for (const Node& node : graph.nodes()) {
    if (!graph::is_view(node)) continue;
    bool of_parameters = true;
    for_each_operand(node, [&](ValueId id) {
      of_parameters = of_parameters && views[index(id)];
    });
    for (ValueId result : node.results) {
      if (result != kNoValue) views[index(result)] = of_parameters;
    }
  }
  return views;
}

// The first result that there is, kNoValue if none.
ValueId first_result(const Node& node) {
  for (ValueId result : node.results) {
    if (result != kNoValue) return result;
  }
  return kNoValue;
}

bool is_among(const std::vector<bool>& values, ValueId id) {
  return id != kNoValue && values[index(id)];
}

}  // namespace

std::vector<bool> free_nodes(const Graph& graph) {
  std::vector<bool> bound(graph.values().size());
  for (const graph::Input& input : graph.inputs()) {
    bound[index(input.value)] = input.kind == InputKind::kParameter ||
                                input.kind == InputKind::kBoundary;
  }
  const std::vector<bool> views = views_of_parameters(graph);
  std::vector<bool> free;
  for (const Node& node : graph.nodes()) {
    bool reads_bound = false;
    for_each_operand(node, [&](ValueId id) {
      reads_bound = reads_bound || bound[index(id)];
    });
    for (ValueId result : node.results) {
      if (result != kNoValue) bound[index(result)] = reads_bound;
    }
    free.push_back(!reads_bound || is_among(views, first_result(node)));
  }
  return free;
}

Sharding sharding_from_firsts(const Graph& graph, const std::vector<bool>& free,
                              const std::vector<NodeId>& firsts) {
  MERAK_CHECK(!firsts.empty() && std::is_sorted(firsts.begin(), firsts.end(),
                                                std::less_equal<>{}),
              "shards must begin at increasing nodes");
  Sharding sharding{std::vector<int>(graph.nodes().size(), 0),
                    static_cast<int>(firsts.size())};
  std::size_t shard = 0;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    while (shard + 1 < firsts.size() && index(firsts[shard + 1]) <= i) ++shard;
    if (!free[i]) sharding.shard_of_node[i] = static_cast<int>(shard);
  }
  place_free_nodes(graph, free, sharding);
  return sharding;
}

std::vector<std::int64_t> parameters_of_nodes(const Graph& graph) {
  std::vector<std::int64_t> unread(graph.values().size());
  for (const graph::Input& input : graph.inputs()) {
    if (input.kind != InputKind::kParameter) continue;
    unread[index(input.value)] = graph.value(input.value).type.numel();
  }
  const std::vector<bool> views = views_of_parameters(graph);
  std::vector<std::int64_t> counts;
  for (const Node& node : graph.nodes()) {
    std::int64_t count = 0;
    for_each_operand(node, [&](ValueId id) {
      count += unread[index(id)];
      unread[index(id)] = 0;
    });
    const ValueId result = first_result(node);
    if (is_among(views, result)) std::swap(unread[index(result)], count);
    counts.push_back(count);
  }
  return counts;
}

std::vector<std::int64_t> shard_parameters(const Graph& graph,
                                           const Sharding& sharding) {
  std::vector<std::int64_t> sums(index(sharding.count));
  const auto users = users_of_values(graph);
  for (const graph::Input& input : graph.inputs()) {
    if (input.kind != InputKind::kParameter) continue;
    std::set<int> shards;
    for (NodeId user : users[index(input.value)]) {
      shards.insert(sharding.shard_of_node[index(user)]);
    }
    for (int shard : shards) {
      sums[index(shard)] += graph.value(input.value).type.numel();
    }
  }
  return sums;
}

std::vector<double> shard_training_flops(const Graph& graph,
                                         const Sharding& sharding) {
  std::vector<double> sums(index(sharding.count));
  const std::vector<bool> gradient = needs_gradient(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const bool backward = std::any_of(
        node.results.begin(), node.results.end(),
        [&](ValueId id) { return id != kNoValue && gradient[index(id)]; });
    sums[index(sharding.shard_of_node[i])] +=
        flops(graph, node) * (backward ? 3 : 1);
  }
  return sums;
}

std::string_view block_of(std::string_view module) {
  std::size_t begin = 0;
  while (begin <= module.size()) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    if (all_digits(module.substr(begin, end - begin))) {
      return module.substr(0, end);
    }
    begin = end + 1;
  }
  return {};
}

int count_blocks(const Graph& graph) {
  std::unordered_set<std::string_view> blocks;
  int matrix_nodes = 0;
  for (const Node& node : graph.nodes()) {
    const std::string_view block = block_of(node.module);
    if (!block.empty()) blocks.insert(block);
    bool reads_matrix = false;
    for_each_operand(node, [&](ValueId id) {
      const graph::Value& value = graph.value(id);
      reads_matrix = reads_matrix || (value.producer == kNoNode &&
                                      is_floating(value.type.dtype) &&
                                      value.type.shape.size() >= 2);
    });
    matrix_nodes += reads_matrix;
  }
  if (!blocks.empty()) return static_cast<int>(blocks.size());
  return std::max(1, matrix_nodes / 4);
}

}  // namespace merak::partition
