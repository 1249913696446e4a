#include <algorithm>

#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// Queries [..., T, D], keys [..., S, D], values [..., S, E] from operand
// `query` on. Scores take 2*T*S*D, the weighted sum 2*T*S*E, softmax about 5 an
// element of T*S. A causal mask leaves half of it to fused kernels.
double forward_work(const Graph& graph, const Node& node, std::size_t query,
                    bool causal) {
  const double head = operand_size(graph, node, query, -1);
  const double rows = operand_numel(graph, node, query) / std::max(head, 1.0);
  const double columns = operand_size(graph, node, query + 1, -2);
  const double value_head = operand_size(graph, node, query + 2, -1);
  const double work = rows * columns * (2 * head + 2 * value_head + 5);
  return causal ? work / 2 : work;
}

template <std::size_t causal>
double forward(const Graph& graph, const Node& node) {
  return forward_work(graph, node, 0, bool_argument(node, causal, false));
}

// Behind the gradient stand query, key, value: five products for the forward's
// two, the scores computed again.
template <std::size_t causal>
double backward(const Graph& graph, const Node& node) {
  return 2.5 * forward_work(graph, node, 1, bool_argument(node, causal, false));
}

constexpr OpInfo kOps[] = {
    {.name = "aten.scaled_dot_product_attention",
     .flops = forward<5>,
     .random = Randomness::kByRate,
     .rate_argument = 4},
    {.name = "aten._scaled_dot_product_flash_attention_for_cpu",
     .flops = forward<4>,
     .random = Randomness::kByRate,
     .rate_argument = 3},
    {.name = "aten._scaled_dot_product_flash_attention_for_cpu_backward",
     .flops = backward<7>},
    {.name = "aten._scaled_dot_product_flash_attention",
     .flops = forward<4>,
     .random = Randomness::kByRate,
     .rate_argument = 3},
    {.name = "aten._scaled_dot_product_flash_attention_backward",
     .flops = backward<11>},
    {.name = "aten._scaled_dot_product_efficient_attention",
     .flops = forward<6>,
     .random = Randomness::kByRate,
     .rate_argument = 5},
    {.name = "aten._scaled_dot_product_efficient_attention_backward",
     .flops = backward<11>},
    {.name = "aten._scaled_dot_product_cudnn_attention",
     .flops = forward<6>,
     .random = Randomness::kByRate,
     .rate_argument = 5},
};

}  // namespace

std::span<const OpInfo> attention_ops() { return kOps; }

}  // namespace merak::graph
