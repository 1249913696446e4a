#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// Rows x vocabulary x hidden multiply-adds, from hidden [N, C] and weight
// [V, C] at two neighbouring positions.
double head_product(const Graph& graph, const Node& node, std::size_t hidden) {
  return 2 * operand_numel(graph, node, hidden) *
         operand_size(graph, node, hidden + 1, 0);
}

// (hidden, weight, labels, ignore_index): the product, then softmax a block.
double linear_cross_entropy(const Graph& graph, const Node& node) {
  const double logits =
      operand_size(graph, node, 0, 0) * operand_size(graph, node, 1, 0);
  return head_product(graph, node, 0) + 13 * logits;
}

// (gradient, hidden, weight, ..): one product for each gradient that is made,
// the softmax is kept from the forward.
double linear_cross_entropy_backward(const Graph& graph, const Node& node) {
  double products = 0;
  for (ValueId result : node.results) products += result != kNoValue;
  return products * head_product(graph, node, 1);
}

constexpr OpInfo kOps[] = {
    {.name = "aten.cross_entropy_loss", .flops = per_operand<13>},
    {.name = "aten.nll_loss", .flops = per_operand<1, 1>},
    {.name = "aten.nll_loss_nd", .flops = per_operand<1, 1>},
    {.name = "aten.nll_loss_forward", .flops = per_operand<1, 1>},
    {.name = "aten.nll_loss_backward", .flops = per_operand<1, 2>},
    {.name = "aten.mse_loss", .flops = per_operand<3>},
    {.name = "aten.mse_loss_backward", .flops = per_operand<3, 1>},
    {.name = "aten.l1_loss", .flops = per_operand<2>},
    {.name = "aten.smooth_l1_loss", .flops = per_operand<5>},
    {.name = "aten.binary_cross_entropy", .flops = per_operand<25>},
    {.name = "aten.binary_cross_entropy_with_logits", .flops = per_operand<25>},
    {.name = "merak.cross_entropy_sum", .flops = per_operand<13>},
    {.name = "merak.cross_entropy_sum_backward", .flops = per_result<13>},
    {.name = "merak.count_valid", .flops = per_operand<1>},
    {.name = "merak.linear_cross_entropy", .flops = linear_cross_entropy},
    {.name = "merak.linear_cross_entropy_backward",
     .flops = linear_cross_entropy_backward},
};

}  // namespace

std::span<const OpInfo> loss_ops() { return kOps; }

}  // namespace merak::graph
