#include "merak/runtime/batches.h"

#include <ATen/ops/from_blob.h>

#include "merak/trace/tensors.h"

namespace merak::runtime {

BatchSource::BatchSource(std::shared_ptr<const data::Dataset> dataset,
                         const data::SamplerConfig& sampler,
                         std::int64_t data_rank)
    : sampler_(sampler),
      data_rank_(data_rank),
      loader_(std::move(dataset), data::BatchSampler(sampler),
              static_cast<std::uint64_t>(data_rank)) {}

Batch BatchSource::load(std::int64_t step, std::int64_t micro_batch) {
  const std::shared_ptr<const data::Batch> batch =
      loader_.next(static_cast<std::uint64_t>(step),
                   static_cast<std::uint64_t>(micro_batch));
  Batch tensors;
  for (const data::BatchTensor& item : batch->tensors) {
    // Programs only read their inputs.
    auto* bytes = const_cast<std::byte*>(item.bytes.data());
    tensors[item.name] = at::from_blob(
        bytes, item.shape, [batch](void*) {},
        at::TensorOptions().dtype(trace::to_scalar_type(item.dtype)));
  }
  return tensors;
}

BatchPosition BatchSource::position(std::int64_t seed, std::int64_t step,
                                    std::int64_t micro_batch) const {
  const auto samples = static_cast<std::int64_t>(sampler_.micro_batch);
  const auto share =
      static_cast<std::int64_t>(sampler_.global_batch / sampler_.data_ranks);
  return {seed, step, data_rank_ * share + micro_batch * samples, samples};
}

std::int64_t BatchSource::steps_per_epoch() const {
  return static_cast<std::int64_t>(loader_.sampler().steps_per_epoch());
}

}  // namespace merak::runtime
