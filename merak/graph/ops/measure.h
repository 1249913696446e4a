// Pieces of FLOP and byte formulas, for the families.
#pragma once

#include "merak/graph/arguments.h"
#include "merak/graph/ops/catalogue.h"

namespace merak::graph {

inline double zero(const Graph&, const Node&) { return 0; }

inline const TensorType* operand_type(const Graph& graph, const Node& node,
                                      std::size_t position) {
  const ValueId id = tensor_argument(node, position);
  return id == kNoValue ? nullptr : &graph.value(id).type;
}

inline double operand_numel(const Graph& graph, const Node& node,
                            std::size_t position) {
  const TensorType* type = operand_type(graph, node, position);
  return type ? static_cast<double>(type->numel()) : 0.0;
}

// The size of a dimension of an operand, from the end if negative; 1 where the
// operand has no such dimension (vectors and scalars in matrix products).
inline double operand_size(const Graph& graph, const Node& node,
                           std::size_t position, std::int64_t dim) {
  const TensorType* type = operand_type(graph, node, position);
  if (!type) return 1;
  const std::int64_t wrapped = wrap_dim(dim, type->shape.size());
  if (wrapped < 0 || static_cast<std::size_t>(wrapped) >= type->shape.size()) {
    return 1;
  }
  return static_cast<double>(type->shape[static_cast<std::size_t>(wrapped)]);
}

inline const TensorType* result_type(const Graph& graph, const Node& node,
                                     std::size_t position) {
  if (position >= node.results.size()) return nullptr;
  const ValueId id = node.results[position];
  return id == kNoValue ? nullptr : &graph.value(id).type;
}

inline double result_numel(const Graph& graph, const Node& node,
                           std::size_t position = 0) {
  const TensorType* type = result_type(graph, node, position);
  return type ? static_cast<double>(type->numel()) : 0.0;
}

inline double result_bytes(const Graph& graph, const Node& node) {
  double bytes = 0;
  for (ValueId id : node.results) {
    if (id != kNoValue) {
      bytes += static_cast<double>(graph.value(id).type.bytes());
    }
  }
  return bytes;
}

// N operations an element of operand `position` (reductions, losses).
template <int N, std::size_t position = 0>
double per_operand(const Graph& graph, const Node& node) {
  return N * operand_numel(graph, node, position);
}

// N operations an element of the first result that is defined.
template <int N>
double per_result(const Graph& graph, const Node& node) {
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    if (node.results[i] != kNoValue) return N * result_numel(graph, node, i);
  }
  return 0;
}

// As much is read as is written: gathers, slices of bigger tensors.
inline double twice_results(const Graph& graph, const Node& node) {
  return 2 * result_bytes(graph, node);
}

}  // namespace merak::graph
