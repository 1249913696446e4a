#include "merak/passes/cross_entropy.h"

#include <array>
#include <string_view>

#include "merak/graph/arguments.h"

namespace merak::passes {
namespace {

using graph::Graph;
using graph::int_argument;
using graph::kNoNode;
using graph::kNoValue;
using graph::Node;
using graph::tensor_argument;
using graph::ValueId;
using graph::wrap_dim;

enum class Reduction : std::int64_t { kNone = 0, kMean = 1, kSum = 2 };

constexpr std::array<std::string_view, 5> kNegativeLogLikelihoods = {
    "aten.nll_loss", "aten.nll_loss_nd", "aten.nll_loss2d",
    "aten.nll_loss_forward", "aten.nll_loss2d_forward"};

const Node* producer(const Graph& graph, ValueId id) {
  const graph::NodeId node = graph.value(id).producer;
  return node == kNoNode ? nullptr : &graph.node(node);
}

bool reduces(const Node& node) {
  const auto reduction = static_cast<Reduction>(int_argument(node, 3, 1));
  return reduction == Reduction::kMean || reduction == Reduction::kSum;
}

std::int64_t class_dim(const Graph& graph, ValueId logits) {
  return graph.value(logits).type.shape.size() > 1 ? 1 : 0;
}

// What log_softmax was taken of, if over the class.
ValueId before_log_softmax(const Graph& graph, ValueId id) {
  const Node* node = producer(graph, id);
  if (!node ||
      (node->op != "aten.log_softmax.int" && node->op != "aten._log_softmax")) {
    return kNoValue;
  }
  const std::size_t rank = graph.value(id).type.shape.size();
  const bool over_class =
      wrap_dim(int_argument(*node, 1, 0), rank) == class_dim(graph, id);
  return over_class ? tensor_argument(*node, 0) : kNoValue;
}

// Logits [N, T, C] are often transposed to [N, C, T] for the loss alone.
void look_through_transpose(const Graph& graph, CrossEntropy& found) {
  const Node* node = producer(graph, found.logits);
  if (!node || node->op != "aten.transpose.int" ||
      graph.value(found.logits).type.shape.size() != 3) {
    return;
  }
  const std::int64_t a = wrap_dim(int_argument(*node, 1, 0), 3);
  const std::int64_t b = wrap_dim(int_argument(*node, 2, 0), 3);
  if (a + b != 3 || a * b != 2) return;  // 1 and 2
  found.logits = tensor_argument(*node, 0);
  found.class_last = true;
}

}  // namespace

std::optional<CrossEntropy> match_cross_entropy(const Graph& graph,
                                                ValueId loss) {
  const Node* node = producer(graph, loss);
  if (!node || graph.value(loss).result != 0) return std::nullopt;
  CrossEntropy found;
  found.node = graph.value(loss).producer;
  found.labels = tensor_argument(*node, 1);
  found.ignore_index = int_argument(*node, 4, -100);
  if (node->op == "aten.cross_entropy_loss") {
    if (graph::real_argument(*node, 5, 0.0) != 0.0) return std::nullopt;
    found.logits = tensor_argument(*node, 0);
  } else {
    bool known = false;
    for (std::string_view op : kNegativeLogLikelihoods) {
      known = known || node->op == op;
    }
    if (!known) return std::nullopt;
    found.logits = before_log_softmax(graph, tensor_argument(*node, 0));
  }
  if (found.logits == kNoValue || found.labels == kNoValue ||
      tensor_argument(*node, 2) != kNoValue || !reduces(*node) ||
      is_floating(graph.value(found.labels).type.dtype)) {
    return std::nullopt;
  }
  look_through_transpose(graph, found);
  return found;
}

}  // namespace merak::passes
