#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// The gradient is read once and added into the rows it belongs to; the table of
// gradients is filled with zeros before.
double scatter_bytes(const Graph& graph, const Node& node) {
  const TensorType* grad = operand_type(graph, node, 0);
  const double moved = grad ? static_cast<double>(grad->bytes()) : 0.0;
  return result_bytes(graph, node) + 3 * moved;
}

constexpr OpInfo kOps[] = {
    {.name = "aten.embedding",
     .flops = zero,
     .bytes = twice_results,
     .cheap_to_recompute = true,
     .is_lookup = true},
    {.name = "aten.embedding_bag", .is_lookup = true},
    {.name = "aten._embedding_bag", .is_lookup = true},
    {.name = "aten.embedding_dense_backward",
     .flops = per_operand<1>,
     .bytes = scatter_bytes},
    {.name = "aten.embedding_backward",
     .flops = per_operand<1>,
     .bytes = scatter_bytes},
    {.name = "aten.index_select",
     .flops = zero,
     .bytes = twice_results,
     .cheap_to_recompute = true},
    {.name = "aten.index_select_backward",
     .flops = per_operand<1>,
     .bytes = scatter_bytes},
    {.name = "aten.index", .flops = zero, .bytes = twice_results},
    {.name = "aten.gather", .flops = zero, .bytes = twice_results},
    {.name = "aten.one_hot", .flops = zero, .bytes = twice_results},
};

}  // namespace

std::span<const OpInfo> embedding_ops() { return kOps; }

}  // namespace merak::graph
