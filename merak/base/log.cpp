#include "merak/base/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/str.h"

namespace merak {
namespace {

// One write(2) a line. spdlog's file sink buffers by blocks, which would cut
// lines where two processes share a file.
class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LineSink(int fd, bool owns, std::string name)
      : fd_(fd),
        owns_(owns),
        terminal_(::isatty(fd) == 1),
        name_(std::move(name)) {}
  ~LineSink() override {
    if (owns_) ::close(fd_);
  }
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    // On a terminal, wipe the progress line that may stand there.
    if (terminal_) line.append(std::string_view("\r\x1b[K"));
    formatter_->format(message, line);
    write_all(fd_, {line.data(), line.size()}, name_);
  }
  void flush_() override {}

 private:
  int fd_;
  bool owns_;
  bool terminal_;
  std::string name_;
};

spdlog::level::level_enum level_from(const std::string& name,
                                     std::string_view origin) {
  const std::vector<std::string> names = {"trace", "debug", "info",
                                          "warn",  "error", "off"};
  for (const std::string& known : names) {
    if (name == known) return spdlog::level::from_str(name);
  }
  fail_usage("{} is \"{}\"; it must be one of {}", origin, name,
             join(names, ", "));
}

spdlog::level::level_enum level_of(const LogOptions& options) {
  if (options.level) return level_from(*options.level, "the log level");
  const char* environment = std::getenv("MERAK_LOG");
  if (environment == nullptr || *environment == '\0') {
    return spdlog::level::info;
  }
  return level_from(environment, "MERAK_LOG");
}

std::shared_ptr<LineSink> open_sink(const std::filesystem::path& path) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    fail_runtime("cannot open the log {}: {}", path.string(),
                 std::error_code(errno, std::generic_category()).message());
  }
  return std::make_shared<LineSink>(fd, true, path.string());
}

// spdlog's pattern language gives '%' a meaning.
std::string escaped(std::string_view prefix) {
  std::string result;
  for (char c : prefix) {
    if (c == '%') result += '%';
    result += c;
  }
  return result.empty() ? result : result + ' ';
}

}  // namespace

std::string rank_prefix(int pipeline, int data, int tensor) {
  return fmt::format("[pp{} dp{} tp{}]", pipeline, data, tensor);
}

std::shared_ptr<spdlog::logger> make_logger(const LogOptions& options) {
  const auto level = level_of(options);
  std::vector<spdlog::sink_ptr> sinks;
  if (options.to_stderr) {
    sinks.push_back(
        std::make_shared<LineSink>(STDERR_FILENO, false, "standard error"));
  }
  if (!options.file.empty()) sinks.push_back(open_sink(options.file));
  auto logger =
      std::make_shared<spdlog::logger>("merak", sinks.begin(), sinks.end());
  logger->set_level(level);
  logger->set_pattern("%H:%M:%S.%e %l " + escaped(options.prefix) + "%v");
  return logger;
}

}  // namespace merak
