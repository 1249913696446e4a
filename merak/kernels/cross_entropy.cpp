#include "merak/kernels/cross_entropy.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "merak/base/error.h"
#include "merak/kernels/operators.h"

namespace merak::kernels {
namespace {

using at::Tensor;

void check_labels(const Tensor& labels, std::int64_t classes,
                  std::int64_t ignore_index) {
  const Tensor flat = labels.contiguous();
  const auto* values = flat.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    if (values[i] == ignore_index) continue;
    if (values[i] < 0 || values[i] >= classes) {
      fail_runtime(
          "label {} at position {}; labels lie in 0 to {}, or are {} "
          "(ignored)",
          values[i], i, classes - 1, ignore_index);
    }
  }
}

// Sum over valid rows of lse - target, in f64, as the logits' type.
Tensor loss_of(const Tensor& lse, const Tensor& target, const Tensor& valid) {
  const Tensor rows = (lse - target).to(at::kDouble);
  return at::where(valid, rows, 0.0).sum().to(lse.scalar_type());
}

// A block of the vocabulary.
struct Block {
  std::int64_t number, first, rows;
};

template <typename F>
void for_each_block(std::int64_t vocabulary, F&& f) {
  for (std::int64_t first = 0, number = 0; first < vocabulary;
       first += kVocabularyBlock, ++number) {
    f(Block{number, first, std::min(kVocabularyBlock, vocabulary - first)});
  }
}

Tensor block_of(const Tensor& exps, const Block& block, std::int64_t count) {
  return exps.narrow(0, count * block.first, count * block.rows)
      .view({count, block.rows});
}

// Labels as columns of a block, and which of them lie in it.
struct Columns {
  Columns(const Tensor& labels, const Block& block)
      : inside(labels.ge(block.first)
                   .logical_and_(labels.lt(block.first + block.rows))),
        index((labels - block.first).clamp_(0, block.rows - 1).unsqueeze(1)) {}
  Tensor inside;  // bool [N]
  Tensor index;   // i64 [N, 1]
};

Tensor lse_of(const Tensor& statistics) {
  const Tensor maxima = statistics.select(0, 0);
  const Tensor highest = maxima.amax({0});
  const Tensor sums =
      (statistics.select(0, 1) * (maxima - highest).exp_()).sum(0);
  return highest + sums.log_();
}

}  // namespace

std::tuple<Tensor, Tensor> cross_entropy_sum(const Tensor& logits,
                                             const Tensor& labels,
                                             std::int64_t ignore_index) {
  check_labels(labels, logits.size(1), ignore_index);
  const Tensor valid = labels.ne(ignore_index);
  const Tensor index = at::where(valid, labels, 0).unsqueeze(1);
  const Tensor lse = at::logsumexp(logits, {1});
  const Tensor target = logits.gather(1, index).squeeze(1);
  return {loss_of(lse, target, valid), lse};
}

Tensor cross_entropy_sum_backward(const Tensor& grad, const Tensor& logits,
                                  const Tensor& labels, const Tensor& lse,
                                  std::int64_t ignore_index) {
  const Tensor valid = labels.ne(ignore_index);
  const Tensor scale = (valid.to(logits.scalar_type()) * grad).unsqueeze(1);
  const Tensor index = at::where(valid, labels, 0).unsqueeze(1);
  Tensor result = at::empty_like(logits, at::MemoryFormat::Contiguous);
  at::sub_out(result, logits, lse.unsqueeze(1));
  result.exp_().mul_(scale);
  result.scatter_add_(1, index, -scale);
  return result;
}

Tensor count_valid(const Tensor& labels, std::int64_t ignore_index) {
  return labels.ne(ignore_index).sum();
}

std::tuple<Tensor, Tensor, Tensor> linear_cross_entropy(
    const Tensor& hidden, const Tensor& weight, const Tensor& labels,
    std::int64_t ignore_index) {
  const std::int64_t count = hidden.size(0), vocabulary = weight.size(0);
  check_labels(labels, vocabulary, ignore_index);
  const std::int64_t blocks =
      (vocabulary + kVocabularyBlock - 1) / kVocabularyBlock;
  Tensor exps = at::empty({count * vocabulary}, hidden.options());
  Tensor statistics = at::empty({2, blocks, count}, hidden.options());
  Tensor target = at::zeros({count}, hidden.options());
  for_each_block(vocabulary, [&](const Block& block) {
    Tensor logits = block_of(exps, block, count);
    at::mm_out(logits, hidden, weight.narrow(0, block.first, block.rows).t());
    const Columns columns(labels, block);
    target = at::where(columns.inside,
                       logits.gather(1, columns.index).squeeze(1), target);
    Tensor maxima = statistics.select(0, 0).select(0, block.number);
    Tensor sums = statistics.select(0, 1).select(0, block.number);
    at::amax_out(maxima, logits, {1});
    logits.sub_(maxima.unsqueeze(1)).exp_();
    at::sum_out(sums, logits, at::IntArrayRef{1});
  });
  const Tensor lse = lse_of(statistics);
  return {loss_of(lse, target, labels.ne(ignore_index)), exps, statistics};
}

Tensor linear_cross_entropy_backward_accumulate(
    const Tensor& grad, const Tensor& hidden, const Tensor& weight,
    const Tensor& labels, const Tensor& exps, const Tensor& statistics,
    std::int64_t ignore_index, Tensor& grad_weight, bool overwrite) {
  const std::int64_t count = hidden.size(0), vocabulary = weight.size(0);
  const Tensor scale =
      labels.ne(ignore_index).to(hidden.scalar_type()).mul_(grad);
  const Tensor factors =
      (statistics.select(0, 0) - lse_of(statistics)).exp_().mul_(scale);
  const Tensor scratch = at::empty(
      {count * std::min(kVocabularyBlock, vocabulary)}, hidden.options());
  Tensor grad_hidden = at::empty_like(hidden, at::MemoryFormat::Contiguous);
  for_each_block(vocabulary, [&](const Block& block) {
    Tensor logits =
        scratch.narrow(0, 0, count * block.rows).view({count, block.rows});
    at::mul_out(logits, block_of(exps, block, count),
                factors.select(0, block.number).unsqueeze(1));
    const Columns columns(labels, block);
    logits.scatter_add_(
        1, columns.index,
        at::where(columns.inside, scale, 0.0).neg_().unsqueeze(1));

    const Tensor rows = weight.narrow(0, block.first, block.rows);
    Tensor grad_rows = grad_weight.narrow(0, block.first, block.rows);
    if (block.number == 0) {
      at::mm_out(grad_hidden, logits, rows);
    } else {
      at::addmm_out(grad_hidden, grad_hidden, logits, rows);
    }
    if (overwrite) {
      at::mm_out(grad_rows, logits.t(), hidden);
    } else {
      at::addmm_out(grad_rows, grad_rows, logits.t(), hidden);
    }
  });
  return grad_hidden;
}

std::tuple<Tensor, Tensor> linear_cross_entropy_backward(
    const Tensor& grad, const Tensor& hidden, const Tensor& weight,
    const Tensor& labels, const Tensor& exps, const Tensor& statistics,
    std::int64_t ignore_index) {
  Tensor grad_weight = at::empty_like(weight, at::MemoryFormat::Contiguous);
  Tensor grad_hidden = linear_cross_entropy_backward_accumulate(
      grad, hidden, weight, labels, exps, statistics, ignore_index, grad_weight,
      /*overwrite=*/true);
  return {grad_hidden, grad_weight};
}

}  // namespace merak::kernels
