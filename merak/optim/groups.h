// Parameters that share hyper-parameters, as the lists that fused kernels take.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "merak/optim/optimizer.h"

namespace merak::optim {

struct Group {
  double weight_decay = 0;
  std::vector<std::size_t> slots;  // indices
  std::vector<at::Tensor> parameters, gradients;
};

// Matrices with weight decay, the rest without; empty groups are left out.
// Kernels take one element type at a time, so each type has groups of its own.
std::vector<Group> make_groups(const std::vector<Slot>& slots,
                               double weight_decay);

}  // namespace merak::optim
