// Cross-entropy as a sum over valid rows, alone and fused with the head.
//
// The head's product is the largest of a language model: hidden [N, C] times
// weight [V, C] gives logits [N, V] that a plain implementation streams through
// memory some eight times (product, log-softmax, loss, and their backwards).
// The fused form goes over the vocabulary in blocks of kVocabularyBlock rows;
// while a block of logits is in the cache its maxima, exponentials and sums are
// taken. Kept for the backward are the exponentials (relative to their block's
// maximum) and the statistics, from which a softmax is one multiplication.
//
//   exps        [N * V], block after block, each [N, rows of the block]
//   statistics  [2, blocks, N]: maxima, and sums of exponentials
//
// Rows whose label is ignore_index count for nothing; any other label outside
// 0 .. V - 1 is a runtime error. Sums over rows are taken in f64. f32 and f64;
// results are the same for the same number of threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace merak::kernels {

std::tuple<at::Tensor, at::Tensor> cross_entropy_sum(const at::Tensor& logits,
                                                     const at::Tensor& labels,
                                                     std::int64_t ignore_index);

at::Tensor cross_entropy_sum_backward(const at::Tensor& grad,
                                      const at::Tensor& logits,
                                      const at::Tensor& labels,
                                      const at::Tensor& lse,
                                      std::int64_t ignore_index);

at::Tensor count_valid(const at::Tensor& labels, std::int64_t ignore_index);

std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_cross_entropy(
    const at::Tensor& hidden, const at::Tensor& weight,
    const at::Tensor& labels, std::int64_t ignore_index);

std::tuple<at::Tensor, at::Tensor> linear_cross_entropy_backward(
    const at::Tensor& grad, const at::Tensor& hidden, const at::Tensor& weight,
    const at::Tensor& labels, const at::Tensor& exps,
    const at::Tensor& statistics, std::int64_t ignore_index);

// Adds the weight's gradient to grad_weight, or overwrites it.
at::Tensor linear_cross_entropy_backward_accumulate(
    const at::Tensor& grad, const at::Tensor& hidden, const at::Tensor& weight,
    const at::Tensor& labels, const at::Tensor& exps,
    const at::Tensor& statistics, std::int64_t ignore_index,
    at::Tensor& grad_weight, bool overwrite);

}  // namespace merak::kernels
