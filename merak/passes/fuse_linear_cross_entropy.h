// Never makes the logits: fuses the head's product into the loss.
//
//   %logits = aten.linear(%x, %w, none)               [2, 256, 50304]
//   %rows = aten.view(%logits, [-1, 50304])
//   %s, %_ = merak.cross_entropy_sum(%rows, %labels, -100)
// becomes
//   %h = aten.reshape(%x, [-1, 768])
//   %s, %exps, %stats = merak.linear_cross_entropy(%h, %w, %labels, -100)
//
// merak.linear_cross_entropy(hidden [N, C], weight [V, C], labels i64[N],
// ignore_index) gives the loss's sum, exps [N * V] of hidden's type and
// statistics [2, ceil(V / kVocabularyBlock), N]; sum and statistics are f64 for
// f64, else f32. The vocabulary is worked through in blocks.
//
// The product is linear without bias, or mm or matmul with a transposed matrix.
// Between it and the loss may stand what acts on rows only: reshapes of leading
// dimensions, slices of them, copies and casts to a wider type; they act on the
// hidden states instead. Nobody else may read the logits.
#pragma once

#include <cstdint>

#include "merak/passes/pass.h"

namespace merak::passes {

inline constexpr std::int64_t kVocabularyBlock = 1024;  // rows of the weight

bool fuse_linear_cross_entropy(graph::Graph& graph, const PassOptions& options);

}  // namespace merak::passes
