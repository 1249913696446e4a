// Dropout whose mask is a function and not a state.
//
// random_key: i64[4] on the CPU, {seed, step, first sample, samples}. Element i
// of sample s is kept or dropped by a random number of (seed, step, site, s,
// i): the mask is the same however the batch is cut in micro-batches and spread
// over ranks, and recomputation needs no saved state. The leading dimensions of
// x run over the samples, in order.
//
// The numbers are those of Philox4x32-10: Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <ATen/core/Tensor.h>

namespace merak::kernels {

// Kept elements are scaled by 1 / (1 - p). f32, f64, bf16, f16.
at::Tensor dropout(const at::Tensor& x, const at::Tensor& random_key, double p,
                   std::int64_t site);

// The same mask and scale, applied to the gradient.
at::Tensor dropout_backward(const at::Tensor& grad,
                            const at::Tensor& random_key, double p,
                            std::int64_t site);

}  // namespace merak::kernels
