// TensorBoard event files, written without protobuf or TensorFlow
// (docs/formats/metrics.md). A file is a sequence of TFRecords, each an `Event`
// message with a few scalars.
//
// On resume a new file is started beside the old ones; its session-start event
// makes TensorBoard forget what earlier files say of that step and later ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "merak/metrics/metrics_file.h"

namespace merak::metrics {

struct Scalar {
  std::string tag;  // "train/loss": the part before '/' is a group
  double value;     // stored as a float
};

// CRC-32C (Castagnoli), and the masked form of TFRecords.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

// A TFRecord: length, its checksum, the bytes, their checksum; little endian.
std::string tf_record(std::string_view bytes);

class EventFile {
 public:
  // Makes `folder` and, in it, a file of a name not used before. Runtime error
  // if that fails.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // `wall_time`: seconds since 1970. One appending write each.
  void write(std::int64_t step, std::span<const Scalar> scalars,
             double wall_time);
  void write(const StepRecord& record);  // train/..., speed/..., memory/...
  void write(const EvalRecord& record);  // validation/loss

  const std::filesystem::path& path() const { return path_; }

 private:
  void append(std::string_view bytes);

  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace merak::metrics
