#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// Transcendental functions count as some ten operations. All of them are
// limited by memory, and their results are as big as their operands: rebuilt
// rather than kept.
constexpr OpInfo activation(std::string_view name, Measure flops) {
  return {.name = name, .flops = flops, .cheap_to_recompute = true};
}

constexpr OpInfo kOps[] = {
    activation("aten.gelu", per_result<14>),
    activation("aten.gelu_backward", per_result<20>),
    activation("aten.relu", per_result<1>),
    activation("aten.threshold_backward", per_result<1>),
    activation("aten.leaky_relu", per_result<2>),
    activation("aten.leaky_relu_backward", per_result<2>),
    activation("aten.silu", per_result<12>),
    activation("aten.silu_backward", per_result<16>),
    activation("aten.mish", per_result<24>),
    activation("aten.elu", per_result<12>),
    activation("aten.elu_backward", per_result<12>),
    activation("aten.softplus", per_result<20>),
    activation("aten.softplus_backward", per_result<14>),
    activation("aten.hardtanh", per_result<2>),
    activation("aten.hardswish", per_result<5>),
    activation("aten.hardsigmoid", per_result<4>),
    activation("aten.glu", per_result<12>),
    activation("aten.tanh", per_result<10>),
    activation("aten.tanh_backward", per_result<3>),
    activation("aten.sigmoid", per_result<10>),
    activation("aten.sigmoid_backward", per_result<3>),
    activation("aten.softmax", per_result<13>),
    activation("aten._softmax", per_result<13>),
    activation("aten._safe_softmax", per_result<14>),
    activation("aten._softmax_backward_data", per_result<4>),
    activation("aten.log_softmax", per_result<13>),
    activation("aten._log_softmax", per_result<13>),
    activation("aten._log_softmax_backward_data", per_result<13>),
};

}  // namespace

std::span<const OpInfo> activation_ops() { return kOps; }

}  // namespace merak::graph
