// The ways to cut a model graph into shards. Each is one pass over the nodes.
//
// Values that are needed far away are carried there directly (split_stages), so
// a value read by many, and free nodes (sharding.h), bind nothing.
#pragma once

#include <string>
#include <vector>

#include "merak/graph/graph.h"
#include "merak/partition/sharding.h"

namespace merak::partition {

// Values with more readers than this are carried rather than collapse the
// shards between producer and readers.
inline constexpr std::size_t kManyUsers = 5;

// 2L + 4 for L layers: one shard a transformer block.
int default_shard_count(const graph::Graph& graph);

// The paper's method. A shard is closed once its parameters exceed the budget,
// (all - embeddings) / shard_count; an embedding counts as budget + 1. The
// value that closes a shard may be read in the next one; a node that reads any
// other value of an earlier shard pulls everything between into that shard, so
// a skip connection stays inside one shard. A tail without parameters (the
// loss) joins the shard before it.
//
// On GPT-2 with a tied head and L layers, 2L + 4 gives L + 3 shards: token
// embedding, position embedding, L blocks, final norm and head; 3L and more
// gives 2L + 3, attention and MLP apart. The count is a wish: often fewer come
// out. O(n log n) for n nodes and operands.
Sharding farthest_min_deps(const graph::Graph& graph, int shard_count);

// Cuts where the fewest bytes are alive: of the places where a shard would have
// half to one and a half times its share of the model's work, the one with the
// least live bytes, the nearest to the share among equals. Works for any model;
// gives shard_count shards, fewer only where nodes are few or one outweighs its
// share.
Sharding nearest_min_deps(const graph::Graph& graph, int shard_count);

// A new shard begins at the first node of each named module. A name is a run of
// parts of a path: "h.1" names "transformer.h.1.attn", not "transformer.h.10".
// Without names, every repeated block is a shard, as is what lies before,
// between and behind blocks. Usage error if a name fits nothing, or if there
// are neither names nor blocks.
Sharding layer_split(const graph::Graph& graph,
                     const std::vector<std::string>& split_points);

}  // namespace merak::partition
