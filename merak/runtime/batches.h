// Batches of the data side as tensors, and which micro-batch a rank takes.
#pragma once

#include <memory>
#include <optional>

#include "merak/config/layout.h"
#include "merak/data/loader.h"
#include "merak/runtime/stage.h"

namespace merak::runtime {

// One data rank's micro-batches of any step. Tensors share the loader's memory.
class BatchSource {
 public:
  BatchSource(std::shared_ptr<const data::Dataset> dataset,
              const data::SamplerConfig& sampler, std::int64_t data_rank);

  Batch load(std::int64_t step, std::int64_t micro_batch);
  BatchPosition position(std::int64_t seed, std::int64_t step,
                         std::int64_t micro_batch) const;
  std::int64_t steps_per_epoch() const;

 private:
  data::SamplerConfig sampler_;
  std::int64_t data_rank_;
  data::Loader loader_;
};

}  // namespace merak::runtime
