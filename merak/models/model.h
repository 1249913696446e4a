// What the zoo's models have in common: plain single-device torch::nn modules
// with Hugging Face's parameter names, built from config.json.
//
// A model knows nothing of ranks, stages or schedules. Its forward takes named
// tensors; with "labels" among them it returns "loss", the mean cross-entropy
// over valid labels, without them "logits".
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "merak/models/spec.h"

namespace merak::models {

class Model : public torch::nn::Module {
 public:
  virtual trace::NamedTensors forward(const trace::NamedTensors& inputs) = 0;
};

// The inputs of a training step and of generation: input_ids and labels, or
// input_ids alone, i64[batch, sequence].
std::vector<trace::NamedType> language_model_inputs(std::int64_t batch,
                                                    std::int64_t sequence,
                                                    bool with_labels);

// A view of a module for trace::capture_model; it keeps the module alive.
trace::ModuleView view_of(const std::shared_ptr<Model>& model);

// "input_ids" of a named list; usage error if it is not there.
const at::Tensor& input_named(const trace::NamedTensors& inputs,
                              const std::string& name);
// The same, or null.
const at::Tensor* find_input(const trace::NamedTensors& inputs,
                             const std::string& name);

}  // namespace merak::models
