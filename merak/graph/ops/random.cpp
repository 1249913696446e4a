#include "merak/graph/ops/measure.h"

namespace merak::graph {
namespace {

// A counter-based draw costs about 20 integer operations an element.
constexpr OpInfo draw(std::string_view name) {
  return {.name = name, .flops = per_result<20>, .random = Randomness::kAlways};
}

// Draws only at a rate above 0, its argument 1.
constexpr OpInfo dropout(std::string_view name) {
  return {.name = name,
          .flops = per_result<20>,
          .random = Randomness::kByRate,
          .rate_argument = 1};
}

// Ours are functions of the random key and their site, so they can be merged,
// moved and run again like any other operator.
constexpr OpInfo kOps[] = {
    dropout("aten.dropout"),
    dropout("aten.native_dropout"),
    dropout("aten.feature_dropout"),
    dropout("aten.alpha_dropout"),
    dropout("aten.feature_alpha_dropout"),
    {.name = "aten.native_dropout_backward",
     .flops = per_result<2>,
     .cheap_to_recompute = true},
    draw("aten.rand"),
    draw("aten.rand_like"),
    draw("aten.randn"),
    draw("aten.randn_like"),
    draw("aten.randint"),
    draw("aten.randint_like"),
    draw("aten.randperm"),
    draw("aten.bernoulli"),
    draw("aten.normal"),
    draw("aten.normal_functional"),
    draw("aten.log_normal"),
    draw("aten.cauchy"),
    draw("aten.geometric"),
    draw("aten.random"),
    draw("aten.uniform"),
    draw("aten.exponential"),
    draw("aten.poisson"),
    draw("aten.multinomial"),
    draw("aten.rrelu"),
    draw("aten.rrelu_with_noise"),
    {.name = "merak.dropout",
     .flops = per_result<20>,
     .cheap_to_recompute = true},
    {.name = "merak.dropout_backward",
     .flops = per_result<20>,
     .cheap_to_recompute = true},
};

}  // namespace

std::span<const OpInfo> random_ops() { return kOps; }

}  // namespace merak::graph
