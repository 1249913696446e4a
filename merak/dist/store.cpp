#include "merak/dist/store.h"

#include <thread>
#include <vector>

#include <fmt/format.h>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

constexpr const char* kAllHere = "all here";

std::string missing_line(Store& store, int world_size, double seconds,
                         const std::string& name) {
  std::vector<int> missing;
  for (int rank = 0; rank < world_size; ++rank) {
    if (!store.has(fmt::format("{}/{}", name, rank))) missing.push_back(rank);
  }
  return fmt::format(
      "waited {:.3g} s for rank{} {} of {}, which did not start; see their "
      "output, or whether their hosts reach this one",
      seconds, missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
      world_size);
}

}  // namespace

void InProcessStore::set(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  values_[key] = value;
  changed_.notify_all();
}

std::string InProcessStore::set_once(const std::string& key,
                                     const std::string& value) {
  const std::lock_guard lock(mutex_);
  const auto [place, added] = values_.emplace(key, value);
  if (added) changed_.notify_all();
  return place->second;
}

std::optional<std::string> InProcessStore::wait(
    const std::string& key, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [&] { return values_.contains(key); }))
    return std::nullopt;
  return values_.at(key);
}

bool InProcessStore::has(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return values_.contains(key);
}

std::int64_t InProcessStore::add(const std::string& key, std::int64_t delta) {
  const std::lock_guard lock(mutex_);
  std::string& value = values_[key];
  const std::int64_t sum = (value.empty() ? 0 : std::stoll(value)) + delta;
  value = std::to_string(sum);
  changed_.notify_all();
  return sum;
}

void start_barrier(Store& store, int rank, int world_size,
                   std::chrono::milliseconds timeout, const std::string& name) {
  const std::string verdict_key = name + "/verdict";
  store.set(fmt::format("{}/{}", name, rank), "here");
  if (store.add(name + "/count", 1) == world_size) {
    store.set_once(verdict_key, kAllHere);
  }
  std::optional<std::string> verdict = store.wait(verdict_key, timeout);
  if (!verdict) {
    const double seconds = std::chrono::duration<double>(timeout).count();
    verdict = store.set_once(verdict_key,
                             missing_line(store, world_size, seconds, name));
  }
  if (*verdict == kAllHere) return;
  // The store may live in this process: let the other ranks read the verdict.
  if (rank == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  fail_runtime("{}", *verdict);
}

}  // namespace merak::dist
