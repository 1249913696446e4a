#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

constexpr OpInfo kOps[] = {
    {.name = "aten.sum", .flops = per_operand<1>},
    {.name = "aten.mean", .flops = per_operand<1>},
    {.name = "aten.prod", .flops = per_operand<1>},
    {.name = "aten.var", .flops = per_operand<4>},
    {.name = "aten.var_mean", .flops = per_operand<4>},
    {.name = "aten.std", .flops = per_operand<4>},
    {.name = "aten.max", .flops = per_operand<1>},
    {.name = "aten.min", .flops = per_operand<1>},
    {.name = "aten.amax", .flops = per_operand<1>},
    {.name = "aten.amin", .flops = per_operand<1>},
    {.name = "aten.argmax", .flops = per_operand<1>},
    {.name = "aten.argmin", .flops = per_operand<1>},
    {.name = "aten.any", .flops = per_operand<1>},
    {.name = "aten.all", .flops = per_operand<1>},
    {.name = "aten.norm", .flops = per_operand<2>},
    {.name = "aten.linalg_vector_norm", .flops = per_operand<2>},
    {.name = "aten.logsumexp", .flops = per_operand<12>},
    {.name = "aten.cumsum", .flops = per_operand<1>},
    {.name = "aten.max_pool2d", .flops = per_operand<1>},
    {.name = "aten.avg_pool2d", .flops = per_operand<1>},
    {.name = "aten.adaptive_avg_pool2d", .flops = per_operand<1>},
    {.name = "aten._adaptive_avg_pool2d", .flops = per_operand<1>},
};

}  // namespace

std::span<const OpInfo> reduction_ops() { return kOps; }

}  // namespace merak::graph
