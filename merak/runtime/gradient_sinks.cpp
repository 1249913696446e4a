#include "merak/runtime/gradient_sinks.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <array>

namespace merak::runtime {
namespace {

using Arguments = std::span<const c10::IValue>;
using Results = std::vector<at::Tensor>;

void mm(Arguments in, const GradientTarget& target, Results& out) {
  at::Tensor buffer = target.buffer;
  if (target.overwrite) {
    at::mm_out(buffer, in[0].toTensor(), in[1].toTensor());
  } else {
    at::addmm_out(buffer, buffer, in[0].toTensor(), in[1].toTensor());
  }
  out.emplace_back();
}

// aten.embedding_dense_backward(grad, indices, rows, padding, scale_by_freq).
void embedding(Arguments in, const GradientTarget& target, Results& out) {
  static const auto accumulate =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("merak::embedding_backward_accumulate", "")
          .typed<void(const at::Tensor&, const at::Tensor&, at::Tensor&,
                      std::int64_t)>();
  at::Tensor buffer = target.buffer;
  if (target.overwrite) buffer.zero_();
  accumulate.call(in[0].toTensor(), in[1].toTensor(), buffer, in[3].toInt());
  out.emplace_back();
}

void linear_cross_entropy(Arguments in, const GradientTarget& target,
                          Results& out) {
  static const auto accumulate =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("merak::linear_cross_entropy_backward_accumulate",
                             "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&,
                            const at::Tensor&, const at::Tensor&,
                            const at::Tensor&, const at::Tensor&, std::int64_t,
                            at::Tensor&, bool)>();
  at::Tensor buffer = target.buffer;
  out.push_back(accumulate.call(in[0].toTensor(), in[1].toTensor(),
                                in[2].toTensor(), in[3].toTensor(),
                                in[4].toTensor(), in[5].toTensor(),
                                in[6].toInt(), buffer, target.overwrite));
  out.emplace_back();
}

const std::array<SinkRule, 3>& rules() {
  static const auto* table = new std::array<SinkRule, 3>{{
      {"aten.mm", 0, &mm},
      {"aten.embedding_dense_backward", 0, &embedding},
      {"merak.linear_cross_entropy_backward", 1, &linear_cross_entropy},
  }};
  return *table;
}

}  // namespace

const SinkRule* find_sink(const std::string& op, std::size_t result) {
  for (const SinkRule& rule : rules()) {
    if (rule.op == op && rule.result == result) return &rule;
  }
  return nullptr;
}

void add_to_target(const at::Tensor& gradient, const GradientTarget& target) {
  at::Tensor buffer = target.buffer;
  if (target.overwrite) {
    buffer.copy_(gradient);
  } else {
    buffer.add_(gradient);
  }
}

}  // namespace merak::runtime
