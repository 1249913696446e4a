// Turns the model's loss into a sum and a count, so that micro-batches and
// ranks can be added up: loss of the step = sum of sums / sum of counts.
//
// The loss is the only floating output that is a scalar. Where it is a
// cross-entropy (or feeds the output through casts and views of a scalar only),
// with mean or sum:
//
//   %l = aten.cross_entropy_loss(%logits, %labels, none, 1, -100, 0.0)
//   return "loss": %l
// becomes
//   %s, %rows = merak.cross_entropy_sum(%logits, %labels, -100)
//   %n = merak.count_valid(%labels, -100)
//   return "loss_sum": %s
//   return "count": %n
//
// merak.cross_entropy_sum(logits [N, C], labels i64[N], ignore_index) gives the
// sum over rows whose label is not ignore_index, and a statistic a row that
// backward uses; both f64 for f64 logits, else f32. merak.count_valid(labels,
// ignore_index) gives an i64 scalar. Other ranks are brought to [N, C] by
// permute and reshape. The pair log_softmax, nll_loss is a cross-entropy too.
//
// Any other loss (class weights, label smoothing, soft labels, terms added up)
// is averaged over samples: loss_sum = loss * samples, count = samples.
//
// Usage error if there is no such output, or more than one (it names them).
// Unchanged if the outputs loss_sum and count are there already.
#pragma once

#include "merak/passes/pass.h"

namespace merak::passes {

bool loss_to_sum_and_count(graph::Graph& graph, const PassOptions& options);

}  // namespace merak::passes
