// From a module to its model graph: operators whole, as the module calls them
// (aten.linear, aten.scaled_dot_product_attention), in the order of its
// forward. Nothing is allocated; parameters may be deferred (deferred.h) or
// real.
//
// In-place operators are recorded as they are called: passes/functionalize
// makes the graph functional. Operators on real tensors alone (position
// indices, masks) are computed on the spot and become constants where they
// meet the model's values.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "merak/graph/graph.h"
#include "merak/trace/recorder.h"

namespace merak::trace {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

struct NamedType {
  std::string name;
  graph::TensorType type;
};

// A module, seen from here: names of tensors, and a function. Tied parameters
// are one tensor under several names; the first name counts.
struct ModuleView {
  NamedTensors parameters;
  NamedTensors buffers;
  std::function<NamedTensors(const NamedTensors& inputs)> forward;
};

struct CapturedModel {
  graph::Graph graph;
  Constants constants;
};

// Usage error, naming module and operator, for a model that branches on values.
CapturedModel capture_model(const ModuleView& module,
                            const std::vector<NamedType>& inputs,
                            c10::Device device);

}  // namespace merak::trace
