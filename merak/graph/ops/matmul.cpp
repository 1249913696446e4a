#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// Two operations for every element of the result and of the dimension that is
// summed over: the last of operand `left`.
template <std::size_t left>
double product(const Graph& graph, const Node& node) {
  return 2 * result_numel(graph, node) * operand_size(graph, node, left, -1);
}

// (bias, left, right): the bias is one more addition an element.
double product_with_bias(const Graph& graph, const Node& node) {
  return product<1>(graph, node) + result_numel(graph, node);
}

double linear(const Graph& graph, const Node& node) {
  const bool bias = tensor_argument(node, 2) != kNoValue;
  return product<0>(graph, node) + (bias ? result_numel(graph, node) : 0.0);
}

constexpr OpInfo kOps[] = {
    {.name = "aten.mm", .flops = product<0>},
    {.name = "aten.bmm", .flops = product<0>},
    {.name = "aten.mv", .flops = product<0>},
    {.name = "aten.dot", .flops = product<0>},
    {.name = "aten.matmul", .flops = product<0>},
    {.name = "aten.outer", .flops = per_result<1>},
    {.name = "aten.linear", .flops = linear},
    {.name = "aten.addmm", .flops = product_with_bias},
    {.name = "aten.addmv", .flops = product_with_bias},
    {.name = "aten.baddbmm", .flops = product_with_bias},
};

}  // namespace

std::span<const OpInfo> matmul_ops() { return kOps; }

}  // namespace merak::graph
