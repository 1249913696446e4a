// A value that the user fixes or leaves to Merak: a number (or true, false) or
// the word "auto".
#pragma once

#include <cstdint>
#include <optional>

#include "merak/base/error.h"

namespace merak::config {

template <typename T>
class Auto {
 public:
  Auto() = default;                 // "auto"
  Auto(T value) : value_(value) {}  // NOLINT: 4 stands for itself

  bool is_auto() const { return !value_; }

  // Only for a value that is not "auto" (any more).
  T value() const {
    MERAK_CHECK(value_.has_value(), "an \"auto\" that nobody resolved");
    return *value_;
  }
  T value_or(T otherwise) const { return value_.value_or(otherwise); }

  bool operator==(const Auto&) const = default;

 private:
  std::optional<T> value_;
};

using AutoInt = Auto<std::int64_t>;
using AutoBool = Auto<bool>;

}  // namespace merak::config
