#include "merak/config/layout.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/config/text.h"

namespace merak::config {
namespace {

// Larger micro-batches bring little on a CPU and cost memory.
constexpr std::int64_t kLargestAutoMicroBatch = 8;
// Bubble of 1F1B: (p - 1) / (m + p - 1), under a fifth from m = 4 p on.
constexpr std::int64_t kMicroBatchesPerStage = 4;

std::int64_t fixed_product(const ParallelConfig& parallel) {
  return parallel.data.value_or(1) * parallel.tensor.value_or(1) *
         parallel.pipeline.value_or(1);
}

// "data x tensor x pipeline = auto x 1 x 4"
std::string degrees_text(const ParallelConfig& parallel) {
  const auto text = [](const AutoInt& degree) {
    return degree.is_auto() ? "auto" : toml_text(degree.value());
  };
  return fmt::format("data x tensor x pipeline = {} x {} x {}",
                     text(parallel.data), text(parallel.tensor),
                     text(parallel.pipeline));
}

bool has_auto(const ParallelConfig& parallel) {
  return parallel.data.is_auto() || parallel.tensor.is_auto() ||
         parallel.pipeline.is_auto();
}

[[noreturn]] void fail_degrees(const ParallelConfig& parallel,
                               std::int64_t world) {
  const std::int64_t fixed = fixed_product(parallel);
  const std::string start = fmt::format("parallel: {} does not fit {} ranks",
                                        degrees_text(parallel), world);
  if (!has_auto(parallel)) {
    fail_usage("{}: the product is {}; run on {} ranks, or set data = \"auto\"",
               start, fixed, fixed);
  }
  const std::int64_t below = world / fixed * fixed;
  fail_usage("{}: {} is not a multiple of {}; {}{} ranks would work", start,
             world, fixed, below > 0 ? fmt::format("{} or ", below) : "",
             below + fixed);
}

std::int64_t auto_micro_batch(std::int64_t share, std::int64_t stages) {
  for (std::int64_t size = std::min(share, kLargestAutoMicroBatch); size > 1;
       --size) {
    const bool enough =
        stages == 1 || share / size >= kMicroBatchesPerStage * stages;
    if (share % size == 0 && enough) return size;
  }
  return 1;
}

bool takes(const Config& config, std::int64_t world) {
  try {
    resolve_batch(config, resolve_layout(config, world));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Layout resolve_layout(const Config& config, std::int64_t world) {
  const ParallelConfig& parallel = config.parallel;
  MERAK_CHECK(world >= 1, "{} ranks", world);
  const std::int64_t fixed = fixed_product(parallel);
  if (world % fixed != 0 || (!has_auto(parallel) && fixed != world)) {
    fail_degrees(parallel, world);
  }
  std::int64_t left = world / fixed;
  const auto take = [&left](const AutoInt& degree) {
    return degree.is_auto() ? std::exchange(left, 1) : degree.value();
  };
  Layout layout;
  layout.data = take(parallel.data);
  layout.pipeline = take(parallel.pipeline);
  layout.tensor = take(parallel.tensor);
  if (layout.tensor > 1) {
    fail_usage(
        "parallel.tensor = {} (the ranks left over: {} on {} ranks) is "
        "not supported yet; supported: 1",
        layout.tensor, degrees_text(parallel), world);
  }
  return layout;
}

Batch resolve_batch(const Config& config, const Layout& layout) {
  const std::int64_t global = config.train.global_batch_size;
  if (global % layout.data != 0) {
    const std::int64_t below = global / layout.data * layout.data;
    fail_usage(
        "train.global_batch_size is {}; it must be a multiple of the {} data "
        "ranks: {}{} would work, or set parallel.data or parallel.pipeline",
        global, layout.data, below > 0 ? fmt::format("{} or ", below) : "",
        below + layout.data);
  }
  const std::int64_t share = global / layout.data;
  const std::int64_t micro = config.train.micro_batch_size.is_auto()
                                 ? auto_micro_batch(share, layout.pipeline)
                                 : config.train.micro_batch_size.value();
  if (share % micro != 0) {
    fail_usage(
        "train.micro_batch_size is {}; a data rank's share, {} / {} = {}, must "
        "be a multiple of it: {} would work, or \"auto\"",
        micro, global, layout.data, share,
        auto_micro_batch(share, layout.pipeline));
  }
  return {micro, share / micro};
}

std::int64_t default_world(const Config& config, std::int64_t cores) {
  const std::int64_t fixed = fixed_product(config.parallel);
  if (!has_auto(config.parallel)) return fixed;
  for (std::int64_t world = cores; world > fixed; --world) {
    if (takes(config, world)) return world;
  }
  return fixed;
}

Config resolved(const Config& config, const Layout& layout) {
  Config result = config;
  result.parallel.data = layout.data;
  result.parallel.tensor = layout.tensor;
  result.parallel.pipeline = layout.pipeline;
  result.train.micro_batch_size =
      resolve_batch(config, layout).micro_batch_size;
  return result;
}

}  // namespace merak::config
