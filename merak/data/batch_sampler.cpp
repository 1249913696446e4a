#include "merak/data/batch_sampler.h"

#include <optional>

#include "merak/base/error.h"
#include "merak/data/permutation.h"

namespace merak::data {

BatchSampler::BatchSampler(const SamplerConfig& config) : config_(config) {
  const auto& c = config_;
  if (c.num_samples == 0) fail_usage("the data hold no sample");
  MERAK_CHECK(c.data_ranks > 0, "no data ranks");
  if (c.micro_batch == 0 || c.global_batch == 0 ||
      c.global_batch % (c.data_ranks * c.micro_batch) != 0) {
    fail_usage(
        "train.global_batch_size is {}; it must be a multiple of {} "
        "(parallel.data {} x train.micro_batch_size {})",
        c.global_batch, c.data_ranks * c.micro_batch, c.data_ranks,
        c.micro_batch);
  }
}

std::uint64_t BatchSampler::num_micro_batches() const {
  return config_.global_batch / config_.data_ranks / config_.micro_batch;
}

std::uint64_t BatchSampler::steps_per_epoch() const {
  return (config_.num_samples - 1) / config_.global_batch + 1;
}

std::vector<std::uint64_t> BatchSampler::sample_ids(
    std::uint64_t step, std::uint64_t data_rank,
    std::uint64_t micro_batch) const {
  const auto& c = config_;
  MERAK_CHECK(data_rank < c.data_ranks && micro_batch < num_micro_batches(),
              "data rank {}, micro-batch {}", data_rank, micro_batch);
  const std::uint64_t first = step * c.global_batch +
                              data_rank * (c.global_batch / c.data_ranks) +
                              micro_batch * c.micro_batch;
  std::vector<std::uint64_t> ids;
  ids.reserve(c.micro_batch);
  std::optional<Permutation> order;
  std::uint64_t order_epoch = 0;
  for (std::uint64_t at = first; at < first + c.micro_batch; ++at) {
    const std::uint64_t epoch = at / c.num_samples;
    const std::uint64_t place = at % c.num_samples;
    if (c.one_pass && epoch > 0) {
      ids.push_back(kNoSample);
    } else if (!c.shuffle) {
      ids.push_back(place);
    } else {
      if (!order || order_epoch != epoch) {
        order.emplace(c.num_samples, c.seed, epoch);
        order_epoch = epoch;
      }
      ids.push_back((*order)(place));
    }
  }
  return ids;
}

}  // namespace merak::data
