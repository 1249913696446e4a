#include "merak/metrics/metrics_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "merak/base/error.h"
#include "merak/base/file.h"

namespace merak::metrics {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return fmt::format("{:.17g}", value);
}

std::string reason() {
  return std::error_code(errno, std::generic_category()).message();
}

// The step of a record, or -1 for a line that is none.
std::int64_t step_of(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return -1;
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_integer()) return -1;
  return step->get<std::int64_t>();
}

// The bytes at the start of the file that a run from `first_step` keeps.
std::size_t kept_bytes(std::string_view text, std::int64_t first_step,
                       const std::filesystem::path& path) {
  std::size_t begin = 0;
  for (std::size_t line = 1; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return begin;  // torn
    const std::int64_t step = step_of(text.substr(begin, end - begin));
    if (step < 0 && end + 1 == text.size()) return begin;  // torn, padded
    if (step < 0) {
      fail_runtime(
          "{}:{} is not a metrics record; mend the line or move the file away",
          path.string(), line);
    }
    if (step >= first_step) return begin;
    begin = end + 1;
  }
  return begin;
}

}  // namespace

std::string to_json_line(const StepRecord& record) {
  std::string peaks;
  for (std::int64_t bytes : record.peak_bytes) {
    peaks += fmt::format("{}{}", peaks.empty() ? "" : ", ", bytes);
  }
  return fmt::format(
      "{{\"step\": {}, \"loss\": {}, \"grad_norm\": {}, \"lr\": {}, "
      "\"tokens\": {}, \"tokens_per_s\": {}, \"step_ms\": {}, \"bubble\": {}, "
      "\"peak_bytes\": [{}], \"loss_scale\": {}}}",
      record.step, number(record.loss), number(record.grad_norm),
      number(record.lr), record.tokens, number(record.tokens_per_s),
      number(record.step_ms), number(record.bubble), peaks,
      number(record.loss_scale));
}

std::string to_json_line(const EvalRecord& record) {
  return fmt::format(
      R"({{"step": {}, "validation_loss": {}, "validation_tokens": {}}})",
      record.step, number(record.validation_loss), record.tokens);
}

MetricsFile::MetricsFile(const std::filesystem::path& path,
                         std::int64_t first_step)
    : path_(path) {
  std::error_code ignored;
  std::size_t kept = 0;
  if (std::filesystem::exists(path, ignored)) {
    kept = kept_bytes(read_file(path), first_step, path);
  }
  size_ = static_cast<std::int64_t>(kept);
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_runtime("cannot open {}: {}", path.string(), reason());
  if (::ftruncate(fd_, size_) != 0) {
    const std::string why = reason();
    ::close(fd_);
    fail_runtime("cannot cut {}: {}", path.string(), why);
  }
}

MetricsFile::~MetricsFile() { ::close(fd_); }

void MetricsFile::write(const StepRecord& record) {
  append(to_json_line(record));
}

void MetricsFile::write(const EvalRecord& record) {
  append(to_json_line(record));
}

void MetricsFile::append(std::string line) {
  line += '\n';
  try {
    write_all(fd_, line, path_.string());
  } catch (const Error&) {
    // Best effort: if this fails too, the next open cuts the torn line.
    if (::ftruncate(fd_, size_) != 0) errno = 0;
    throw;
  }
  size_ += static_cast<std::int64_t>(line.size());
}

void MetricsFile::sync() {
  if (::fsync(fd_) != 0) {
    fail_runtime("cannot sync {}: {}", path_.string(), reason());
  }
}

}  // namespace merak::metrics
