// What the rank that the user watches tells of a run: metrics.jsonl,
// TensorBoard, the progress line, the log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "merak/config/config.h"
#include "merak/metrics/event_file.h"
#include "merak/metrics/metrics_file.h"
#include "merak/metrics/progress.h"

namespace merak::run {

class Reporter {
 public:
  // Records of `first_step` and later ones, from a run before, are cut off.
  Reporter(const config::Config& config, std::int64_t first_step);

  void step(const metrics::StepRecord& record);
  void evaluation(const metrics::EvalRecord& record);
  // Before other lines on the terminal.
  void pause() { progress_.finish(); }
  // Before a checkpoint is published.
  void sync() { file_.sync(); }

  // Mean over all steps but the first; nothing if there was no other.
  std::optional<double> tokens_per_second() const;

 private:
  metrics::MetricsFile file_;
  std::unique_ptr<metrics::EventFile> events_;  // null: not wanted
  metrics::Progress progress_;
  metrics::Stopwatch watch_;
  std::int64_t steps_ = 0, tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace merak::run
