#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

constexpr OpInfo copy(std::string_view name) {
  return {.name = name,
          .flops = zero,
          .bytes = twice_results,
          .cheap_to_recompute = true};
}

// Made from nothing: written, not read.
constexpr OpInfo fill(std::string_view name) {
  return {.name = name,
          .flops = zero,
          .bytes = result_bytes,
          .cheap_to_recompute = true};
}

constexpr OpInfo kOps[] = {
    copy("aten.clone"),
    copy("aten.copy"),
    copy("aten._to_copy"),
    copy("aten.cat"),
    copy("aten.stack"),
    copy("aten.repeat"),
    copy("aten.repeat_interleave"),
    copy("aten.roll"),
    copy("aten.flip"),
    copy("aten.pad"),
    copy("aten.constant_pad_nd"),
    copy("aten.tril"),
    copy("aten.triu"),
    copy("aten.slice_backward"),
    copy("aten.select_backward"),
    copy("aten.slice_scatter"),
    copy("aten.select_scatter"),
    copy("aten.diagonal_scatter"),
    copy("aten.split_copy"),
    copy("aten.masked_select"),
    copy("aten.scatter"),
    fill("aten.arange"),
    fill("aten.linspace"),
    fill("aten.empty"),
    fill("aten.empty_like"),
    fill("aten.full"),
    fill("aten.full_like"),
    fill("aten.new_full"),
    fill("aten.zeros"),
    fill("aten.zeros_like"),
    fill("aten.new_zeros"),
    fill("aten.ones"),
    fill("aten.ones_like"),
    fill("aten.new_ones"),
    fill("aten.eye"),
    fill("aten.scalar_tensor"),
};

}  // namespace

std::span<const OpInfo> copy_ops() { return kOps; }

}  // namespace merak::graph
