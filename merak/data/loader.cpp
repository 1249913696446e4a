#include "merak/data/loader.h"

#include <utility>

#include "merak/base/error.h"

namespace merak::data {

Loader::Loader(std::shared_ptr<const Dataset> dataset, BatchSampler sampler,
               std::uint64_t data_rank, std::uint64_t steps_ahead)
    : dataset_(std::move(dataset)),
      sampler_(sampler),
      data_rank_(data_rank),
      steps_ahead_(steps_ahead),
      worker_([this](const std::stop_token& stop) { work(stop); }) {}

Loader::~Loader() = default;  // jthread asks to stop, and joins

bool Loader::in_window(std::uint64_t step) const {
  return step >= current_ && step - current_ <= steps_ahead_;
}

std::shared_ptr<const Batch> Loader::next(std::uint64_t step,
                                          std::uint64_t micro_batch) {
  MERAK_CHECK(micro_batch < sampler_.num_micro_batches(),
              "micro-batch {} of {}", micro_batch,
              sampler_.num_micro_batches());
  std::unique_lock lock(mutex_);
  if (current_ != step || steps_.empty()) {
    current_ = step;
    std::erase_if(steps_,
                  [&](const auto& entry) { return !in_window(entry.first); });
    steps_.try_emplace(step);  // the worker's sign to begin
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return steps_.at(step).size() > micro_batch; });
  const Slot& slot = steps_.at(step)[micro_batch];
  if (slot.error) std::rethrow_exception(slot.error);
  return slot.batch;
}

// The first batch of the window that is missing. Nothing before the first
// call of next(): only then is it known where the run starts.
bool Loader::find_task(Task& task) const {
  if (steps_.empty()) return false;
  for (std::uint64_t step = current_; in_window(step); ++step) {
    const auto found = steps_.find(step);
    const std::size_t ready = found == steps_.end() ? 0 : found->second.size();
    if (ready < sampler_.num_micro_batches()) {
      task = {step, ready};
      return true;
    }
  }
  return false;
}

Loader::Slot Loader::make(const Task& task) const {
  Slot slot;
  try {
    const auto ids =
        sampler_.sample_ids(task.step, data_rank_, task.micro_batch);
    slot.batch = std::make_shared<const Batch>(dataset_->make_batch(ids));
  } catch (...) {
    slot.error = std::current_exception();
  }
  return slot;
}

void Loader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    Task task{};
    if (!changed_.wait(lock, stop, [&] { return find_task(task); })) return;
    lock.unlock();
    Slot slot = make(task);
    lock.lock();
    if (stop.stop_requested()) return;
    // Only this thread adds slots, and a caller who begins a dropped step anew
    // waits for this thread first: the slot is the next of its step, or its
    // step has left the window.
    if (in_window(task.step)) {
      steps_[task.step].push_back(std::move(slot));
      changed_.notify_all();
    }
  }
}

}  // namespace merak::data
