// An embedding's gradient, added to the rows that were looked up: for a
// vocabulary of 50,000 and a micro-batch of 512 tokens the dense gradient is a
// hundred times as much memory traffic.
#pragma once

#include <ATen/core/Tensor.h>

namespace merak::kernels {

// weight_grad[indices[i]] += grad[i], in the order of i; rows of padding_idx
// get nothing (-1: no such row).
void embedding_backward_accumulate(const at::Tensor& grad,
                                   const at::Tensor& indices,
                                   at::Tensor& weight_grad,
                                   std::int64_t padding_idx);

}  // namespace merak::kernels
