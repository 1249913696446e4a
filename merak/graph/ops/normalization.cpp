#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// Mean, variance, normalise, scale, shift; backward about twice that. Little
// work for the bytes they hold, hence cheap to rebuild.
constexpr OpInfo kOps[] = {
    {.name = "aten.layer_norm",
     .flops = per_operand<7>,
     .cheap_to_recompute = true},
    {.name = "aten.native_layer_norm",
     .flops = per_operand<7>,
     .cheap_to_recompute = true},
    {.name = "aten.native_layer_norm_backward", .flops = per_operand<14>},
    {.name = "aten.rms_norm",
     .flops = per_operand<4>,
     .cheap_to_recompute = true},
    {.name = "aten._fused_rms_norm",
     .flops = per_operand<4>,
     .cheap_to_recompute = true},
    {.name = "aten._fused_rms_norm_backward", .flops = per_operand<10>},
    {.name = "aten.group_norm",
     .flops = per_operand<7>,
     .cheap_to_recompute = true},
    {.name = "aten.native_group_norm",
     .flops = per_operand<7>,
     .cheap_to_recompute = true},
    {.name = "aten.native_group_norm_backward", .flops = per_operand<14>},
    {.name = "aten.batch_norm", .flops = per_operand<7>},
    {.name = "aten.native_batch_norm", .flops = per_operand<7>},
    {.name = "aten._native_batch_norm_legit", .flops = per_operand<7>},
    {.name = "aten._native_batch_norm_legit_functional",
     .flops = per_operand<7>},
    {.name = "aten.native_batch_norm_backward", .flops = per_operand<14>},
};

}  // namespace

std::span<const OpInfo> normalization_ops() { return kOps; }

}  // namespace merak::graph
