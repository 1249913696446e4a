// The one way to fail: merak::Error, thrown, with a kind that says who can mend
// it (docs/errors.md).
//
// Messages are sentences for the user: they name the key, file or tensor, the
// value found, the rule, and what would work. They start in lower case and end
// without a full stop.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace merak {

enum class ErrorKind {
  kUsage,     // the user's input is wrong: command line, configuration, file
  kRuntime,   // a run failed: disk, peer, numbers
  kNoPlan,    // no plan fits the limits
  kInternal,  // a bug of ours
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// fail<ErrorKind::kUsage>("train.steps is {}; it must be positive", steps)
template <ErrorKind kind, typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format,
                             Args&&... args) {
  throw Error(ErrorKind::kUsage,
              fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_runtime(fmt::format_string<Args...> format,
                               Args&&... args) {
  throw Error(ErrorKind::kRuntime,
              fmt::format(format, std::forward<Args>(args)...));
}

// Invariants of our own: throws an internal error that names the place.
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& message);

}  // namespace merak

// MERAK_CHECK(index < size, "value {} of {}", index, size): for what only a bug
// of ours can break. What a user can break is tested with fail_usage.
#define MERAK_CHECK(condition, ...)                       \
  do {                                                    \
    if (!(condition)) {                                   \
      ::merak::fail_check(__FILE__, __LINE__, #condition, \
                          fmt::format(__VA_ARGS__));      \
    }                                                     \
  } while (false)
