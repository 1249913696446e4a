// Operators of ours in LibTorch's dispatcher, namespace `merak`.
//
// Each has a CPU kernel, and where it is differentiated a kernel for autograd
// that calls forward and backward operators through the dispatcher, so that
// recordings (trace/) see both.
//
//   dropout(x, random_key, p, site) -> Tensor
//   dropout_backward(grad, random_key, p, site) -> Tensor
//   cross_entropy_sum(logits, labels, ignore_index) -> (sum, lse)
//   cross_entropy_sum_backward(grad, logits, labels, lse, ignore_index) ->
//   Tensor count_valid(labels, ignore_index) -> Tensor
//   linear_cross_entropy(hidden, weight, labels, ignore_index)
//       -> (sum, exps, statistics)
//   linear_cross_entropy_backward(grad, hidden, weight, labels, exps,
//       statistics, ignore_index) -> (grad_hidden, grad_weight)
//   linear_cross_entropy_backward_accumulate(..., grad_weight!, overwrite)
//       -> grad_hidden
//   embedding_backward_accumulate(grad, indices, weight_grad!, padding_idx)
//
// dropout.h, cross_entropy.h and embedding.h say what they compute.
#pragma once

#include <cstdint>

namespace merak::kernels {

// Rows of the head's weight that are worked on at a time: a block of logits of
// a usual micro-batch then stays in the second-level cache.
inline constexpr std::int64_t kVocabularyBlock = 1024;

// Makes the operators known. Any number of times, from any thread. An explicit
// call, because a static library's initialisers are dropped by the linker.
void register_operators();

}  // namespace merak::kernels
