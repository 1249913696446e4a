#include "merak/passes/fuse_linear_cross_entropy.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "merak/graph/arguments.h"
#include "merak/graph/rewriter.h"

namespace merak::passes {
namespace {

using graph::Graph;
using graph::kNoNode;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::Rewriter;
using graph::Shape;
using graph::tensor_argument;
using graph::TensorType;
using graph::ValueId;
using graph::wrap_dim;

struct Match {
  ValueId hidden = kNoValue;
  ValueId weight = kNoValue;    // [V, C]
  std::vector<NodeId> row_ops;  // from the loss back to the product
};

bool is_one_of(std::string_view op,
               std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}
bool is_reshape(const Node& node) {
  return is_one_of(node.op, {"aten.view", "aten.reshape", "aten._unsafe_view",
                             "aten.flatten.using_ints"});
}
bool is_copy(const Node& node) {
  return is_one_of(node.op, {"aten.contiguous", "aten.clone", "aten._to_copy",
                             "aten.to.dtype"});
}

class Matcher {
 public:
  explicit Matcher(const Graph& graph)
      : graph_(graph), readers_(graph.values().size()) {
    for (const Node& node : graph.nodes()) {
      for_each_operand(node, [&](ValueId id) { ++readers_[index(id)]; });
    }
    for (const graph::Output& output : graph.outputs()) {
      ++readers_[index(output.value)];
    }
  }

  std::optional<Match> match(const Node& loss) const {
    if (loss.op != "merak.cross_entropy_sum") return std::nullopt;
    if (loss.results[1] != kNoValue && readers_[index(loss.results[1])] > 0) {
      return std::nullopt;
    }
    Match match;
    ValueId logits = tensor_argument(loss, 0);
    while (true) {
      const NodeId id = graph_.value(logits).producer;
      if (id == kNoNode || readers_[index(logits)] != 1) return std::nullopt;
      const Node& node = graph_.node(id);
      if (is_product(node, match)) break;
      if (!acts_on_rows(node)) return std::nullopt;
      match.row_ops.push_back(id);
      logits = tensor_argument(node, 0);
    }
    return fits(match, loss) ? std::optional(match) : std::nullopt;
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }

  bool acts_on_rows(const Node& node) const {
    if (tensor_argument(node, 0) == kNoValue || node.results.size() != 1) {
      return false;
    }
    const TensorType& from = type(tensor_argument(node, 0));
    const TensorType& to = type(node.results[0]);
    if (from.shape.empty() || to.shape.empty() ||
        from.shape.back() != to.shape.back() || !is_floating(from.dtype) ||
        (to.dtype != from.dtype && size_of(to.dtype) <= size_of(from.dtype))) {
      return false;
    }
    if (is_reshape(node) || is_copy(node)) return true;
    const std::size_t rank = from.shape.size();
    return node.op == "aten.slice.Tensor" &&
           wrap_dim(graph::int_argument(node, 1, 0), rank) !=
               static_cast<std::int64_t>(rank) - 1;
  }

  bool is_product(const Node& node, Match& match) const {
    if (node.op == "aten.linear") {
      match.weight = tensor_argument(node, 1);
      if (tensor_argument(node, 2) != kNoValue) return false;
    } else if (is_one_of(node.op, {"aten.mm", "aten.matmul"})) {
      match.weight = before_transpose(tensor_argument(node, 1));
    } else {
      return false;
    }
    match.hidden = tensor_argument(node, 0);
    return match.weight != kNoValue && type(match.weight).shape.size() == 2 &&
           type(match.hidden).shape.size() >= 2;
  }

  ValueId before_transpose(ValueId id) const {
    if (id == kNoValue || type(id).shape.size() != 2 ||
        graph_.value(id).producer == kNoNode) {
      return kNoValue;
    }
    const Node& node = graph_.node(graph_.value(id).producer);
    const bool swaps = wrap_dim(graph::int_argument(node, 1, 0), 2) !=
                       wrap_dim(graph::int_argument(node, 2, 0), 2);
    const Shape order = graph::ints_argument(node, 1);
    const bool transposes = node.op == "aten.t" ||
                            (node.op == "aten.transpose.int" && swaps) ||
                            (node.op == "aten.permute" && !order.empty() &&
                             wrap_dim(order[0], 2) == 1);
    return transposes ? tensor_argument(node, 0) : kNoValue;
  }

  // One type for the product, and a loss as wide as the fused one's.
  bool fits(const Match& match, const Node& loss) const {
    const DType hidden = type(match.hidden).dtype;
    return hidden == type(match.weight).dtype &&
           (hidden == DType::kF64) ==
               (type(loss.results[0]).dtype == DType::kF64);
  }

  const Graph& graph_;
  std::vector<int> readers_;  // by value, outputs included
};

// Does to the hidden states what was done to the logits.
ValueId replay(Rewriter& rewriter, const Match& match) {
  const Graph& graph = rewriter.source();
  ValueId hidden = rewriter.at(match.hidden);
  const TensorType& start = graph.value(match.hidden).type;
  for (const NodeId id : std::views::reverse(match.row_ops)) {
    const Node& node = graph.node(id);
    if (is_copy(node)) continue;
    TensorType type{start.dtype, graph.value(node.results[0]).type.shape, {}};
    type.shape.back() = start.shape.back();
    if (!is_reshape(node)) {
      std::vector<graph::Argument> arguments = node.arguments;
      arguments[0] = hidden;
      hidden = rewriter.add(node, node.op, std::move(arguments), type);
      continue;
    }
    Shape sizes = graph::ints_argument(node, 1);
    if (sizes.size() != type.shape.size()) sizes = type.shape;  // flatten
    sizes.back() = start.shape.back();
    hidden = rewriter.add(node, "aten.reshape",
                          {hidden, graph::Attribute{sizes}}, type);
  }
  return hidden;
}

void fuse(Rewriter& rewriter, const Match& match, const Node& loss) {
  const Graph& graph = rewriter.source();
  const ValueId hidden = replay(rewriter, match);
  const DType dtype = graph.value(match.hidden).type.dtype;
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const std::int64_t rows = rewriter.target().value(hidden).type.shape[0];
  const std::int64_t vocabulary = graph.value(match.weight).type.shape[0];
  const std::int64_t blocks =
      (vocabulary + kVocabularyBlock - 1) / kVocabularyBlock;
  const NodeId fused = rewriter.target().add_node(
      "merak.linear_cross_entropy",
      {hidden, rewriter.at(match.weight), rewriter.at(tensor_argument(loss, 1)),
       loss.arguments[2]},
      {TensorType{wide, {}, {}}, TensorType{dtype, {rows * vocabulary}, {}},
       TensorType{wide, {2, blocks, rows}, {}}},
      loss.module, loss.grad_enabled);
  rewriter.map(loss.results[0], rewriter.target().node(fused).results[0]);
}

}  // namespace

bool fuse_linear_cross_entropy(Graph& graph, const PassOptions&) {
  const Matcher matcher(graph);
  std::map<NodeId, Match> matches;
  std::vector<bool> replaced(graph.nodes().size());
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    auto match = matcher.match(graph.nodes()[i]);
    if (!match) continue;
    ValueId logits = tensor_argument(graph.nodes()[i], 0);
    for (NodeId id : match->row_ops) {
      replaced[static_cast<std::size_t>(id)] = true;
      logits = tensor_argument(graph.node(id), 0);
    }
    replaced[static_cast<std::size_t>(graph.value(logits).producer)] = true;
    matches.emplace(static_cast<NodeId>(i), *std::move(match));
  }
  if (matches.empty()) return false;
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (const auto match = matches.find(id); match != matches.end()) {
      fuse(rewriter, match->second, graph.nodes()[i]);
    } else if (!replaced[i]) {
      rewriter.copy(id);
    }
  }
  graph = rewriter.finish();
  return true;
}

}  // namespace merak::passes
