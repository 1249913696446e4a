// Which samples a step takes, and who takes which of them: pure functions of
// the step, so a resumed run needs nothing but the step's number.
#pragma once

#include <cstdint>
#include <vector>

namespace merak::data {

// What an evaluation's last batch is filled up with: a sample without labels.
inline constexpr std::uint64_t kNoSample = ~std::uint64_t{0};

struct SamplerConfig {
  std::uint64_t num_samples = 0;
  std::uint64_t global_batch = 0;  // samples a step
  std::uint64_t data_ranks = 1;
  std::uint64_t micro_batch = 1;  // samples a micro-batch
  std::uint64_t seed = 0;
  bool shuffle = false;
  // True: one pass, filled up with kNoSample (evaluation). False: endless,
  // epoch after epoch without a seam (training).
  bool one_pass = false;
};

class BatchSampler {
 public:
  // Usage error that names the numbers unless global_batch is a multiple of
  // data_ranks * micro_batch, and num_samples is positive.
  explicit BatchSampler(const SamplerConfig& config);

  const SamplerConfig& config() const { return config_; }

  // Micro-batches a data rank has in a step.
  std::uint64_t num_micro_batches() const;

  // Steps of one pass, the last perhaps filled up: ceil(samples / batch).
  std::uint64_t steps_per_epoch() const;

  // Step k holds places k * global_batch ... of the order. Data rank d has the
  // d-th contiguous part of them, micro-batch i the i-th run of that part.
  std::vector<std::uint64_t> sample_ids(std::uint64_t step,
                                        std::uint64_t data_rank,
                                        std::uint64_t micro_batch) const;

 private:
  SamplerConfig config_;
};

}  // namespace merak::data
