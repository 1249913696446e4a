#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

constexpr OpInfo simple(std::string_view name) {
  return {.name = name, .flops = per_result<1>, .cheap_to_recompute = true};
}

// exp, sin, ..: a short polynomial each.
constexpr OpInfo transcendental(std::string_view name) {
  return {.name = name, .flops = per_result<10>, .cheap_to_recompute = true};
}

constexpr OpInfo kOps[] = {
    simple("aten.add"),
    simple("aten.sub"),
    simple("aten.rsub"),
    simple("aten.mul"),
    simple("aten.div"),
    simple("aten.true_divide"),
    simple("aten.floor_divide"),
    simple("aten.remainder"),
    simple("aten.fmod"),
    simple("aten.neg"),
    simple("aten.abs"),
    simple("aten.sign"),
    simple("aten.square"),
    simple("aten.reciprocal"),
    simple("aten.floor"),
    simple("aten.ceil"),
    simple("aten.round"),
    simple("aten.trunc"),
    simple("aten.clamp"),
    simple("aten.clamp_min"),
    simple("aten.clamp_max"),
    simple("aten.maximum"),
    simple("aten.minimum"),
    simple("aten.addcmul"),
    simple("aten.addcdiv"),
    simple("aten.lerp"),
    simple("aten.where"),
    simple("aten.masked_fill"),
    simple("aten.fill"),
    simple("aten.eq"),
    simple("aten.ne"),
    simple("aten.lt"),
    simple("aten.le"),
    simple("aten.gt"),
    simple("aten.ge"),
    simple("aten.isnan"),
    simple("aten.isinf"),
    simple("aten.logical_and"),
    simple("aten.logical_or"),
    simple("aten.logical_xor"),
    simple("aten.logical_not"),
    simple("aten.bitwise_and"),
    simple("aten.bitwise_or"),
    simple("aten.bitwise_xor"),
    simple("aten.bitwise_not"),
    simple("aten.__and__"),
    simple("aten.__or__"),
    transcendental("aten.pow"),
    transcendental("aten.sqrt"),
    transcendental("aten.rsqrt"),
    transcendental("aten.exp"),
    transcendental("aten.expm1"),
    transcendental("aten.log"),
    transcendental("aten.log1p"),
    transcendental("aten.log2"),
    transcendental("aten.sin"),
    transcendental("aten.cos"),
    transcendental("aten.tan"),
    transcendental("aten.atan2"),
    transcendental("aten.sinh"),
    transcendental("aten.cosh"),
    transcendental("aten.erf"),
};

}  // namespace

std::span<const OpInfo> elementwise_ops() { return kOps; }

}  // namespace merak::graph
