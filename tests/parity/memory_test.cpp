// What a rank holds: exactly its own parameters, never the whole model.
#include <gtest/gtest.h>

#include "merak/kernels/allocator.h"
#include "merak/runtime/layout_plan.h"
#include "merak/runtime/parameters.h"
#include "testing/training.h"

namespace merak::testing {
namespace {

std::int64_t bytes_of(const graph::TensorType& type) { return type.bytes(); }

TEST(Memory, ARankHoldsItsOwnParametersOnly) {
  kernels::install_allocator();
  config::Config config = small_config("none.u16");
  config.model.config = {{"model_type", "gpt2"}, {"n_layer", 8},
                         {"n_embd", 128},        {"n_head", 4},
                         {"vocab_size", 3001},   {"n_positions", 64}};
  const std::int64_t before_model = kernels::memory_count().live_bytes;
  const runtime::TrainableModel model = runtime::load_model(config);
  const runtime::CompiledModel compiled =
      runtime::compile_for(config, {1, 1, 4}, model);
  // Neither building the model nor cutting it takes a byte of tensors, but for
  // what constants there are.
  EXPECT_LT(kernels::memory_count().live_bytes - before_model, 4096);

  std::int64_t whole = 0;
  for (const auto& info : compiled.parameters) whole += bytes_of(info.type);
  for (int stage = 0; stage < 4; ++stage) {
    std::int64_t own = 0;
    std::vector<std::string> order;
    const graph::Graph& graph =
        compiled.staged.stages[static_cast<std::size_t>(stage)].graph;
    for (const graph::Input& input : graph.inputs()) {
      if (input.kind != graph::InputKind::kParameter) continue;
      own += bytes_of(graph.value(input.value).type);
      order.push_back(input.name);
    }
    const std::int64_t before = kernels::memory_count().live_bytes;
    kernels::reset_peak();
    runtime::ParameterStore store(compiled, {stage}, order,
                                  model.initial_value);
    std::int64_t gradients = 0;
    for (const runtime::Bucket& bucket : store.buckets()) {
      gradients += static_cast<std::int64_t>(bucket.flat.nbytes());
    }
    EXPECT_EQ(kernels::memory_count().live_bytes - before, own + gradients);
    EXPECT_LT(own, whole);
    EXPECT_LT(kernels::memory_count().peak_bytes - before, whole + gradients);
  }
}

}  // namespace
}  // namespace merak::testing
