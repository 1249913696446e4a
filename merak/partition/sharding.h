// A sharding: the model graph cut into consecutive pieces, the units that
// stages are made of.
//
// Nodes that depend on no parameter (positions, masks, views of labels), and
// views of parameters alone (a transposed weight), are *free*: they could run
// anywhere, so they go with their first reader and never bind the nodes around
// them. All other nodes are cut in program order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::partition {

struct Sharding {
  std::vector<int> shard_of_node;  // never greater than a reader's shard
  int count = 0;                   // every shard has a node
};

// By node: whether it depends on no parameter and no boundary value, or only
// looks at parameters.
std::vector<bool> free_nodes(const graph::Graph& graph);

// The sharding whose shards begin at these nodes, in program order: `firsts`
// starts with the first node that is not free (or is just {0}). Free nodes are
// placed.
Sharding sharding_from_firsts(const graph::Graph& graph,
                              const std::vector<bool>& free,
                              const std::vector<graph::NodeId>& firsts);

// By node: elements of the parameters whose first reader it is, through views
// too. A tied parameter counts once.
std::vector<std::int64_t> parameters_of_nodes(const graph::Graph& graph);

// By shard: elements of the parameters that it reads, a tied one in each.
std::vector<std::int64_t> shard_parameters(const graph::Graph& graph,
                                           const Sharding& sharding);

// By shard: FLOPs of forward and backward; a node through which gradients flow
// counts three times, its backward being two products for each of its own.
std::vector<double> shard_training_flops(const graph::Graph& graph,
                                         const Sharding& sharding);

// The repeated block that a module belongs to, up to the first number in its
// path: "transformer.h.3" for "transformer.h.3.attn.c_attn", "" if none.
std::string_view block_of(std::string_view module);

// Layers of the model: distinct blocks by module path; where paths are unknown,
// a quarter of the nodes that read a matrix, as a transformer block has four.
int count_blocks(const graph::Graph& graph);

}  // namespace merak::partition
