#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

constexpr OpInfo view(std::string_view name) {
  return {.name = name,
          .flops = zero,
          .bytes = zero,
          .alias = Alias::kView,
          .cheap_to_recompute = true};
}

// A view where the layout allows it; counted as the copy it may be.
constexpr OpInfo maybe_view(std::string_view name) {
  return {.name = name,
          .flops = zero,
          .bytes = twice_results,
          .alias = Alias::kMaybe,
          .cheap_to_recompute = true};
}

constexpr OpInfo kOps[] = {
    view("aten.view"),
    view("aten._unsafe_view"),
    view("aten.view_as"),
    view("aten.t"),
    view("aten.transpose"),
    view("aten.swapaxes"),
    view("aten.permute"),
    view("aten.movedim"),
    view("aten.numpy_T"),
    view("aten.mT"),
    view("aten.expand"),
    view("aten.expand_as"),
    view("aten.broadcast_to"),
    view("aten.unsqueeze"),
    view("aten.squeeze"),
    view("aten.select"),
    view("aten.slice"),
    view("aten.narrow"),
    view("aten.split"),
    view("aten.split_with_sizes"),
    view("aten.chunk"),
    view("aten.tensor_split"),
    view("aten.unbind"),
    view("aten.unflatten"),
    view("aten.unfold"),
    view("aten.diagonal"),
    view("aten.as_strided"),
    view("aten.detach"),
    view("aten.alias"),
    view("aten.swapdims"),
    view("aten.moveaxis"),
    view("aten.adjoint"),
    view("aten.mH"),
    view("aten.hsplit"),
    view("aten.vsplit"),
    view("aten.dsplit"),
    view("aten.positive"),
    view("aten._reshape_alias"),
    maybe_view("aten.reshape"),
    maybe_view("aten.reshape_as"),
    maybe_view("aten.flatten"),
    maybe_view("aten.ravel"),
    maybe_view("aten.to"),
    maybe_view("aten.type_as"),
    maybe_view("aten.contiguous"),
};

}  // namespace

std::span<const OpInfo> view_ops() { return kOps; }

}  // namespace merak::graph
