#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// What travels is the cost model's business; here is the local memory traffic.
constexpr OpInfo collective(std::string_view name) {
  return {.name = name, .flops = zero, .has_effect = true};
}

constexpr OpInfo kOps[] = {
    collective("merak.all_reduce"),     collective("merak.all_gather"),
    collective("merak.reduce_scatter"), collective("merak.all_to_all"),
    collective("merak.broadcast"),      collective("merak.wait"),
};

}  // namespace

std::span<const OpInfo> collective_ops() { return kOps; }

}  // namespace merak::graph
