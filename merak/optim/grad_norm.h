// The global gradient norm, with the same bits in every pipeline layout.
//
// Each logical parameter gives one sum of squares, taken in double over its
// elements in a fixed order. The sums are added in the order of parameters that
// the whole model has, not in that of ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

namespace merak::optim {

// In double, whatever the type; the same for any number of threads.
double sum_of_squares(const at::Tensor& gradient);

// sqrt of the sum, added from the first to the last.
double global_norm(std::span<const double> sums_of_squares);

// What gradients are multiplied by: max_norm / (norm + 1e-6), at most 1, as
// torch.nn.utils.clip_grad_norm_ has it. max_norm 0: no clipping.
double clip_coefficient(double norm, double max_norm);

}  // namespace merak::optim
