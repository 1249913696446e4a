#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// Weights are [out, in / groups, kernel...]; transposed, [in, out / groups,
// kernel...]. Every element of the larger side (result, or input when
// transposed) meets one row of the weight.
double multiply_adds(double side_numel, const Graph& graph, const Node& node,
                     std::size_t weight) {
  const double row =
      operand_numel(graph, node, weight) / operand_size(graph, node, weight, 0);
  return 2 * side_numel * row;
}

double convolution(const Graph& graph, const Node& node) {
  const bool transposed = bool_argument(node, 6, false);
  const double side =
      transposed ? operand_numel(graph, node, 0) : result_numel(graph, node);
  return multiply_adds(side, graph, node, 1);
}

double forward(const Graph& graph, const Node& node) {
  return multiply_adds(result_numel(graph, node), graph, node, 1);
}

double transposed_forward(const Graph& graph, const Node& node) {
  return multiply_adds(operand_numel(graph, node, 0), graph, node, 1);
}

// (grad, input, weight, ..): as much again for each of the two gradients.
double backward(const Graph& graph, const Node& node) {
  const bool transposed = bool_argument(node, 7, false);
  const double once = multiply_adds(
      operand_numel(graph, node, transposed ? 1 : 0), graph, node, 2);
  const bool wants_input = result_type(graph, node, 0) != nullptr;
  const bool wants_weight = result_type(graph, node, 1) != nullptr;
  return once * (wants_input + wants_weight);
}

constexpr OpInfo kOps[] = {
    {.name = "aten.convolution", .flops = convolution},
    {.name = "aten.conv1d", .flops = forward},
    {.name = "aten.conv2d", .flops = forward},
    {.name = "aten.conv3d", .flops = forward},
    {.name = "aten.conv_transpose1d", .flops = transposed_forward},
    {.name = "aten.conv_transpose2d", .flops = transposed_forward},
    {.name = "aten.conv_transpose3d", .flops = transposed_forward},
    {.name = "aten.convolution_backward", .flops = backward},
};

}  // namespace

std::span<const OpInfo> convolution_ops() { return kOps; }

}  // namespace merak::graph
