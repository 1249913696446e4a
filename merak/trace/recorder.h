// Building a graph from calls: which tensor is which value, and constants.
//
// Tensors are told apart by their TensorImpl and kept alive while recording.
// Not thread-safe; one recorder a recording.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::trace {

// Data captured with a graph, by the name of its constant input.
using Constants = std::map<std::string, at::Tensor>;

class Recorder {
 public:
  Recorder(std::string graph_name, c10::Device device)
      : graph_(std::move(graph_name)), device_(device) {}

  void add_input(graph::InputKind kind, const std::string& name,
                 const at::Tensor& tensor, bool trainable = true);
  // Another tensor that stands for a value that is known already.
  void alias(const at::Tensor& tensor, graph::ValueId value);

  bool knows(const at::Tensor& tensor) const;
  // The value of a tensor; one that is not known becomes a constant input.
  graph::ValueId value_of(const at::Tensor& tensor);

  void record(const c10::OperatorHandle& op,
              std::span<const c10::IValue> arguments,
              std::span<const c10::IValue> results, bool grad_enabled);

  graph::Graph& graph() { return graph_; }
  Constants& constants() { return constants_; }
  c10::Device device() const { return device_; }

 private:
  graph::Argument to_argument(const c10::Argument& formal,
                              const c10::IValue& value, const std::string& op);

  graph::Graph graph_;
  c10::Device device_;
  Constants constants_;
  std::unordered_map<const c10::TensorImpl*, graph::ValueId> values_;
  std::vector<at::Tensor> alive_;
};

}  // namespace merak::trace
