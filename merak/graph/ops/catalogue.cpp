#include "merak/graph/ops/catalogue.h"

#include <string>
#include <unordered_map>

#include "merak/base/error.h"
#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

using Index = std::unordered_map<std::string_view, const OpInfo*>;

Index build_index() {
  Index index;
  for (std::span<const OpInfo> family :
       {matmul_ops(), convolution_ops(), attention_ops(), normalization_ops(),
        activation_ops(), embedding_ops(), loss_ops(), view_ops(), copy_ops(),
        reduction_ops(), elementwise_ops(), random_ops(), collective_ops()}) {
    for (const OpInfo& info : family) {
      MERAK_CHECK(index.emplace(info.name, &info).second,
                  "two rows for operator {}", info.name);
    }
  }
  return index;
}

// "aten.add.Tensor" -> "aten.add".
std::string_view without_overload(std::string_view op) {
  const std::size_t space = op.find('.');
  if (space == std::string_view::npos) return op;
  return op.substr(0, op.find('.', space + 1));
}

const OpInfo& row_of(const Node& node) {
  static constexpr OpInfo kUnknown{};
  const OpInfo* info = find_op(node.op);
  return info ? *info : kUnknown;
}

}  // namespace

double one_per_result(const Graph& graph, const Node& node) {
  double count = 0;
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    count += result_numel(graph, node, i);
  }
  return count;
}

double all_bytes(const Graph& graph, const Node& node) {
  double bytes = result_bytes(graph, node);
  for_each_operand(node, [&](ValueId id) {
    bytes += static_cast<double>(graph.value(id).type.bytes());
  });
  return bytes;
}

const OpInfo* find_op(std::string_view op) {
  static const Index kIndex = build_index();
  std::string_view base = without_overload(op);
  for (std::string_view name : {op, base}) {
    if (const auto found = kIndex.find(name); found != kIndex.end()) {
      return found->second;
    }
  }
  if (!base.ends_with('_')) return nullptr;
  base.remove_suffix(1);
  const auto found = kIndex.find(base);
  return found == kIndex.end() ? nullptr : found->second;
}

double flops(const Graph& graph, const Node& node) {
  return row_of(node).flops(graph, node);
}

double bytes_moved(const Graph& graph, const Node& node) {
  return row_of(node).bytes(graph, node);
}

Alias alias_of(const Node& node) { return row_of(node).alias; }

bool is_view(const Node& node) { return alias_of(node) == Alias::kView; }

bool is_random(const Node& node) {
  const OpInfo& row = row_of(node);
  if (row.random == Randomness::kByRate) {
    return real_argument(node, row.rate_argument, 0.0) > 0;
  }
  return row.random == Randomness::kAlways;
}

bool is_cheap_to_recompute(const Node& node) {
  return row_of(node).cheap_to_recompute;
}

bool is_lookup(const Node& node) { return row_of(node).is_lookup; }

bool has_effect(const Node& node) { return row_of(node).has_effect; }

bool is_pure(const Node& node) {
  return find_op(node.op) && !is_random(node) && !has_effect(node) &&
         !node.results.empty() && written_arguments(node).empty();
}

double graph_flops(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes()) sum += flops(graph, node);
  return sum;
}

double graph_bytes_moved(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes()) sum += bytes_moved(graph, node);
  return sum;
}

}  // namespace merak::graph
