#include "merak/models/activations.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "merak/base/error.h"

namespace merak::models {
namespace {

struct Row {
  std::string_view name;
  at::Tensor (*apply)(const at::Tensor&);
};

at::Tensor gelu_tanh(const at::Tensor& x) { return at::gelu(x, "tanh"); }
at::Tensor gelu_exact(const at::Tensor& x) { return at::gelu(x, "none"); }
at::Tensor relu(const at::Tensor& x) { return at::relu(x); }
at::Tensor silu(const at::Tensor& x) { return at::silu(x); }
at::Tensor tanh(const at::Tensor& x) { return at::tanh(x); }

constexpr std::array<Row, 7> kActivations = {{
    {"gelu_new", &gelu_tanh},
    {"gelu_pytorch_tanh", &gelu_tanh},
    {"gelu", &gelu_exact},
    {"relu", &relu},
    {"silu", &silu},
    {"swish", &silu},
    {"tanh", &tanh},
}};

}  // namespace

bool is_activation(const std::string& name) {
  return std::ranges::any_of(kActivations,
                             [&](const Row& row) { return row.name == name; });
}

std::string known_activations() {
  std::string names;
  for (const Row& row : kActivations) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

at::Tensor activate(const std::string& name, const at::Tensor& x) {
  for (const Row& row : kActivations) {
    if (row.name == name) return row.apply(x);
  }
  MERAK_CHECK(false, "activation '{}' was not checked", name);
  return x;
}

}  // namespace merak::models
