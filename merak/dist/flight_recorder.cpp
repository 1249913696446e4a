#include "merak/dist/flight_recorder.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/file.h"

namespace merak::dist {

namespace {

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

FlightRecorder::FlightRecorder(int rank, std::string label,
                               std::size_t capacity)
    : rank_(rank), label_(std::move(label)), ring_(capacity) {
  MERAK_CHECK(capacity > 0, "a flight recorder of no entries");
}

std::uint64_t FlightRecorder::begin(std::string_view kind, std::int64_t step,
                                    std::int64_t micro_batch,
                                    std::string_view what) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  micro_batch_ = micro_batch;
  return add(kind, what);
}

std::uint64_t FlightRecorder::begin(std::string_view kind,
                                    std::string_view what) {
  const std::lock_guard lock(mutex_);
  return add(kind, what);
}

// Under the lock.
std::uint64_t FlightRecorder::add(std::string_view kind,
                                  std::string_view what) {
  Entry& entry = ring_[next_ % ring_.size()];
  entry.number = next_;
  entry.kind = kind;
  entry.step = step_;
  entry.micro_batch = micro_batch_;
  entry.what = what;
  entry.begin_us = now_us();
  entry.end_us = -1;
  return next_++;
}

void FlightRecorder::end(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Entry& entry = ring_[number % ring_.size()];
  if (number < next_ && entry.number == number) entry.end_us = now_us();
}

std::string FlightRecorder::json(std::string_view reason) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t kept = std::min<std::uint64_t>(next_, ring_.size());
  nlohmann::ordered_json root = {{"rank", rank_},
                                 {"label", label_},
                                 {"reason", reason},
                                 {"dropped", next_ - kept},
                                 {"entries", nlohmann::ordered_json::array()}};
  for (std::uint64_t n = next_ - kept; n < next_; ++n) {
    const Entry& entry = ring_[n % ring_.size()];
    nlohmann::ordered_json end;  // null
    if (entry.end_us >= 0) end = entry.end_us;
    root["entries"].push_back({{"number", entry.number},
                               {"kind", entry.kind},
                               {"step", entry.step},
                               {"micro_batch", entry.micro_batch},
                               {"what", entry.what},
                               {"begin_us", entry.begin_us},
                               {"end_us", end}});
  }
  using Json = nlohmann::ordered_json;
  return root.dump(1, ' ', false, Json::error_handler_t::replace);
}

void FlightRecorder::write(const std::filesystem::path& folder,
                           std::string_view reason) const {
  write_file_atomic(folder / fmt::format("flight-{}.json", rank_),
                    json(reason));
}

}  // namespace merak::dist
