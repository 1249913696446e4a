// GPT-2 as the tracer captures it, of any size, for tests of passes and
// partitioning.
#pragma once

#include <cstdint>

#include "merak/graph/graph.h"

namespace merak::graph::testing {

struct Gpt2Options {
  int layers = 2;
  std::int64_t hidden = 8;
  std::int64_t heads = 2;
  std::int64_t vocabulary = 32;
  std::int64_t positions = 16;
  std::int64_t batch = 2;
  std::int64_t sequence = 4;
  double dropout = 0.0;
  bool tied = true;
  bool addmm = false;  // view, addmm, view with [in, out] weights, as HF has it
  bool mask = false;   // a user input "attention_mask", read by every layer
  bool loss = true;    // output "loss", else "logits"
};

// User inputs "input_ids" and "labels" i64[batch, sequence]; parameters by
// their Hugging Face names.
Graph gpt2_graph(const Gpt2Options& options);

// 12 h^2 + 13 h a block, the embeddings, the last norm.
std::int64_t gpt2_parameters(const Gpt2Options& options);

}  // namespace merak::graph::testing
