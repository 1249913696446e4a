// Activation functions by Hugging Face's names.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace merak::models {

bool is_activation(const std::string& name);
std::string known_activations();
at::Tensor activate(const std::string& name, const at::Tensor& x);

}  // namespace merak::models
