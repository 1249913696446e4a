// metrics.jsonl of the run folder: a JSON object a line, one a step and one an
// evaluation (docs/formats/metrics.md). Numbers are written such that they read
// back to the same bits.
//
// One writer: the rank that the user watches. Every record is one appending
// write, so a crash leaves at most one torn line, the last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace merak::metrics {

struct StepRecord {
  std::int64_t step = 0;  // from 0
  double loss = 0;
  double grad_norm = 0;     // before clipping
  double lr = 0;            // that this step used
  std::int64_t tokens = 0;  // of this step's global batch
  double tokens_per_s = 0;
  double step_ms = 0;
  double bubble = 0;  // share of the step that ranks waited, 0 to 1
  std::vector<std::int64_t> peak_bytes;  // one a rank
  double loss_scale = 1;
};

struct EvalRecord {
  std::int64_t step = 0;  // the last one trained before it
  double validation_loss = 0;
  std::int64_t tokens = 0;  // that were evaluated
};

// One line of the file, without its end. Not-a-number and infinities, which
// JSON lacks, are the strings "nan", "inf", "-inf".
std::string to_json_line(const StepRecord& record);
std::string to_json_line(const EvalRecord& record);

class MetricsFile {
 public:
  // Opens or makes the file for a run that goes on with `first_step`: records
  // of that step and later ones, which will be made again, and a torn last
  // line are cut off; everything before stays byte for byte. Runtime error if
  // a line before them is not a record (nothing is changed then) or the file
  // cannot be opened.
  MetricsFile(const std::filesystem::path& path, std::int64_t first_step);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Runtime error if the disk refuses; the file keeps its whole lines then.
  void write(const StepRecord& record);
  void write(const EvalRecord& record);

  // Makes all records so far durable: before a checkpoint is published, so
  // that a run resumed from it finds every step before it.
  void sync();

 private:
  void append(std::string line);

  std::filesystem::path path_;
  int fd_;
  std::int64_t size_ = 0;  // bytes: end of the last whole line
};

}  // namespace merak::metrics
