#include "merak/run/reporter.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace merak::run {
namespace {

metrics::ProgressOptions progress_options(const config::Config& config,
                                          std::int64_t first_step) {
  metrics::ProgressOptions options;
  options.first_step = first_step;
  options.total_steps = config.train.steps;
  options.terminal = metrics::is_terminal(STDERR_FILENO);
  options.width = metrics::terminal_width(STDERR_FILENO);
  options.out = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return options;
}

}  // namespace

Reporter::Reporter(const config::Config& config, std::int64_t first_step)
    : file_(std::filesystem::path(config.run.dir) / "metrics.jsonl",
            first_step),
      progress_(progress_options(config, first_step)) {
  if (config.run.tensorboard) {
    events_ = std::make_unique<metrics::EventFile>(
        std::filesystem::path(config.run.dir) / "tensorboard", first_step);
  }
}

void Reporter::step(const metrics::StepRecord& record) {
  file_.write(record);
  if (events_) events_->write(record);
  progress_.step(record.step + 1, record.loss, record.tokens_per_s,
                 record.step_ms / 1e3, watch_.seconds());
  if (steps_++ == 0) return;
  tokens_ += record.tokens;
  seconds_ += record.step_ms / 1e3;
}

void Reporter::evaluation(const metrics::EvalRecord& record) {
  file_.write(record);
  if (events_) events_->write(record);
  progress_.finish();
  spdlog::info("step {}: validation loss {:.4f} over {} tokens", record.step,
               record.validation_loss, record.tokens);
}

std::optional<double> Reporter::tokens_per_second() const {
  if (seconds_ == 0) return std::nullopt;
  return static_cast<double>(tokens_) / seconds_;
}

}  // namespace merak::run
