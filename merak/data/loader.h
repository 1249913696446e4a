// Batches of one data rank, made ahead of time by a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "merak/data/batch_sampler.h"
#include "merak/data/dataset.h"

namespace merak::data {

// Holds the step asked for last and `steps_ahead` more; memory is bounded by
// that. A step's micro-batches may be asked for in any order and repeatedly (a
// rank that has the first and the last stage needs inputs early, labels late).
// Going back to an earlier step, or far ahead, works and just has nothing
// prepared.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, BatchSampler sampler,
         std::uint64_t data_rank, std::uint64_t steps_ahead = 1);
  ~Loader();  // waits for the batch in work
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Waits until the batch is there. An error while it was made is thrown here,
  // every time that batch is asked for, and not before. One caller at a time.
  std::shared_ptr<const Batch> next(std::uint64_t step,
                                    std::uint64_t micro_batch);

  const BatchSampler& sampler() const { return sampler_; }

 private:
  struct Slot {
    std::shared_ptr<const Batch> batch;
    std::exception_ptr error;
  };
  using Step = std::vector<Slot>;  // ready slots, micro-batch 0 first
  struct Task {
    std::uint64_t step, micro_batch;
  };

  void work(const std::stop_token& stop);
  bool find_task(Task& task) const;
  bool in_window(std::uint64_t step) const;
  Slot make(const Task& task) const;

  const std::shared_ptr<const Dataset> dataset_;
  const BatchSampler sampler_;
  const std::uint64_t data_rank_;
  const std::uint64_t steps_ahead_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t current_ = 0;  // the window is current_ .. + steps_ahead_
  std::map<std::uint64_t, Step> steps_;
  std::jthread worker_;  // last: it uses all of the above
};

}  // namespace merak::data
