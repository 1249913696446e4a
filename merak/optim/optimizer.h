// Optimizers over named parameters: one interface, one table of names.
//
// A parameter's update depends on nothing but itself, its gradient and its
// state, so copies of a tied parameter stay equal, and states can be saved and
// loaded by name in any layout. Kernels are LibTorch's fused ones: one pass
// over memory.
//
// weight_decay acts on matrices (two dimensions and more) only; biases and
// norms have none. One thread calls.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace merak::optim {

struct OptimizerOptions {
  std::string name = "adamw";
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
};

// A parameter and the tensor that its gradient will be in at every step.
struct Slot {
  std::string name;
  at::Tensor parameter;
  at::Tensor gradient;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update of all parameters. `t` counts updates from 1 (Adam's bias
  // correction); steps that were skipped do not count.
  virtual void step(double lr, std::int64_t t) = 0;

  // Names of the states that each parameter has ("exp_avg", "exp_avg_sq"), of
  // the parameter's type and shape.
  virtual std::vector<std::string> state_names() const = 0;
  // The state itself: it may be read and overwritten between steps.
  virtual at::Tensor state(const std::string& parameter,
                           const std::string& state_name) const = 0;
};

// Usage error if no optimizer has this name.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<Slot> slots);

std::vector<std::string> optimizer_names();

}  // namespace merak::optim
