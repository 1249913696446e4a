// Gradients that are added where they are made.
//
// A weight's gradient is usually the result of one product. Instead of making
// it and adding it to the accumulation buffer, an operator with an accumulating
// form writes to the buffer: a matrix product with beta = 1, an embedding's
// gradient row by row, the fused head block by block. The first micro-batch of
// a step overwrites, so buffers are never cleared.
//
// One table (gradient_sinks.cpp) says which operators can.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::runtime {

// Where a gradient goes. `overwrite`: the buffer holds nothing yet.
struct GradientTarget {
  at::Tensor buffer;
  bool overwrite = true;
};

// Runs an operator with its accumulating form. `arguments`: those of the
// operator, as boxed. The remaining results come back in order, the
// accumulated one undefined.
using SinkFunction = void (*)(std::span<const c10::IValue> arguments,
                              const GradientTarget& target,
                              std::vector<at::Tensor>& results);

struct SinkRule {
  std::string op;
  std::size_t result;  // which result of the operator is a weight's gradient
  SinkFunction run;
};

// The rule for an operator's result, or null.
const SinkRule* find_sink(const std::string& op, std::size_t result);

// A rule applied to a step of a program.
struct SinkPlan {
  const SinkRule* rule;
  std::size_t target;  // index among the accumulated outputs
  bool transposed;     // the output is the transpose of the result
};

// What takes a plain gradient tensor.
void add_to_target(const at::Tensor& gradient, const GradientTarget& target);

}  // namespace merak::runtime
