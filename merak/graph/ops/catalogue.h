// What is known of operators: work, memory traffic, aliasing, randomness.
//
// One row an operator, one file a family, one visible list of families in
// catalogue.cpp. A row without an overload ("aten.add") holds for every
// overload and for the in-place form. An operator without a row still works:
// one operation an element of its results, every operand read and every result
// written once, no alias, not cheap.
//
// Figures are of one node on the sizes in the graph (the local ones, once it is
// sharded). Sizes give FLOPs as usual: a multiply and an add are two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::graph {

// How results relate to argument 0.
enum class Alias : std::uint8_t {
  kNone,   // fresh memory
  kView,   // all results look at the memory of argument 0
  kMaybe,  // argument 0 itself or a copy, as layouts will have it
};

enum class Randomness : std::uint8_t {
  kNone,
  kAlways,  // draws from a generator's state
  kByRate,  // draws if the number at `rate_argument` is above 0
};

using Measure = double (*)(const Graph&, const Node&);

// One operation an element of every result.
double one_per_result(const Graph& graph, const Node& node);
// Every tensor operand and every result once.
double all_bytes(const Graph& graph, const Node& node);

struct OpInfo {
  std::string_view name;
  Measure flops = one_per_result;
  Measure bytes = all_bytes;
  Alias alias = Alias::kNone;
  // Selective recomputation rebuilds it rather than keep its result.
  bool cheap_to_recompute = false;
  // Picks rows of the table that is its argument 0: many parameters, hardly any
  // work.
  bool is_lookup = false;
  // Communicates: order and number of such nodes must not change.
  bool has_effect = false;
  Randomness random = Randomness::kNone;
  std::size_t rate_argument = 0;
};

// The row of an operator: of exactly that name, else of its name without
// overload, else of its out-of-place form; nullptr if there is none.
const OpInfo* find_op(std::string_view op);

double flops(const Graph& graph, const Node& node);
double bytes_moved(const Graph& graph, const Node& node);
Alias alias_of(const Node& node);
bool is_view(const Node& node);  // certainly
bool is_random(const Node& node);
bool is_cheap_to_recompute(const Node& node);
bool is_lookup(const Node& node);
bool has_effect(const Node& node);

// In the catalogue, and two nodes with equal arguments have equal results.
bool is_pure(const Node& node);

// The positions of the arguments that a node writes to. By ATen's own
// convention (a trailing underscore, an overload `out`), and a table of those
// that write without saying so (batch_norm in training). Empty for operators
// of ours.
std::vector<std::size_t> written_arguments(const Node& node);

// Sums over all nodes.
double graph_flops(const Graph& graph);
double graph_bytes_moved(const Graph& graph);

// The families, one file each.
std::span<const OpInfo> matmul_ops();
std::span<const OpInfo> convolution_ops();
std::span<const OpInfo> attention_ops();
std::span<const OpInfo> normalization_ops();
std::span<const OpInfo> activation_ops();
std::span<const OpInfo> embedding_ops();
std::span<const OpInfo> loss_ops();
std::span<const OpInfo> view_ops();
std::span<const OpInfo> copy_ops();
std::span<const OpInfo> reduction_ops();
std::span<const OpInfo> elementwise_ops();
std::span<const OpInfo> random_ops();
std::span<const OpInfo> collective_ops();

}  // namespace merak::graph
