// The flight recorder of a rank: its last actions and collectives, with when
// they began and ended. Always on, bounded, written out when the run fails; the
// ranks' files side by side show who waited for what.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace merak::dist {

class FlightRecorder {
 public:
  // Keeps the last `capacity` entries.
  FlightRecorder(int rank, std::string label, std::size_t capacity = 2048);

  // Any thread. `kind` is a short class ("action", "all_reduce", "send"),
  // `what` the particulars ("forward of stage 1", "dp.0 1024 f32 sum").
  std::uint64_t begin(std::string_view kind, std::int64_t step,
                      std::int64_t micro_batch, std::string_view what);
  // With the step and micro-batch of the newest entry that named them; -1
  // before the first.
  std::uint64_t begin(std::string_view kind, std::string_view what);
  void end(std::uint64_t number);  // nothing if it is forgotten already

  // JSON: {"rank", "label", "reason", "dropped", "entries": [{"number", "kind",
  // "step", "micro_batch", "what", "begin_us", "end_us"}, ...]}, oldest first;
  // end_us is null for what has not ended; times are since 1970.
  std::string json(std::string_view reason) const;
  // Writes it to FOLDER/flight-RANK.json. Runtime error if it cannot.
  void write(const std::filesystem::path& folder,
             std::string_view reason) const;

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::string kind;
    std::int64_t step = 0;
    std::int64_t micro_batch = 0;
    std::string what;
    std::int64_t begin_us = 0;
    std::int64_t end_us = -1;
  };

  std::uint64_t add(std::string_view kind, std::string_view what);

  int rank_;
  std::string label_;
  mutable std::mutex mutex_;
  std::int64_t step_ = -1;
  std::int64_t micro_batch_ = -1;
  std::uint64_t next_ = 0;
  std::vector<Entry> ring_;  // entry n lies at n % size
};

}  // namespace merak::dist
