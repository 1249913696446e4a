#include "merak/models/model.h"

#include "merak/base/error.h"

namespace merak::models {

std::vector<trace::NamedType> language_model_inputs(std::int64_t batch,
                                                    std::int64_t sequence,
                                                    bool with_labels) {
  const graph::TensorType ids{DType::kI64, {batch, sequence}, {}};
  std::vector<trace::NamedType> inputs = {{"input_ids", ids}};
  if (with_labels) inputs.push_back({"labels", ids});
  return inputs;
}

trace::ModuleView view_of(const std::shared_ptr<Model>& model) {
  trace::ModuleView view;
  for (const auto& item : model->named_parameters()) {
    view.parameters.emplace_back(item.key(), item.value());
  }
  for (const auto& item : model->named_buffers()) {
    view.buffers.emplace_back(item.key(), item.value());
  }
  view.forward = [model](const trace::NamedTensors& inputs) {
    return model->forward(inputs);
  };
  return view;
}

const at::Tensor* find_input(const trace::NamedTensors& inputs,
                             const std::string& name) {
  for (const auto& [key, tensor] : inputs) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

const at::Tensor& input_named(const trace::NamedTensors& inputs,
                              const std::string& name) {
  const at::Tensor* found = find_input(inputs, name);
  if (found == nullptr) fail_usage("the model needs an input '{}'", name);
  return *found;
}

}  // namespace merak::models
