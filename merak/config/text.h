// Values as TOML text, such that they parse back to the same value: doubles
// shortest round trip, strings quoted and escaped, objects as inline tables.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "merak/base/str.h"
#include "merak/config/auto.h"

namespace merak::config {

// No implicit conversions: a pointer must not print as a bool.
template <typename T>
std::string toml_text(const T&) = delete;

std::string toml_text(bool value);
std::string toml_text(std::int64_t value);
std::string toml_text(double value);
std::string toml_text(const std::string& value);
std::string toml_text(const nlohmann::json& value);  // no null inside

// A key as TOML writes it: bare if it can be.
std::string toml_key(std::string_view key);

template <typename T>
std::string toml_text(const Auto<T>& value) {
  return value.is_auto() ? "\"auto\"" : toml_text(value.value());
}

template <typename T>
std::string toml_text(const std::vector<T>& values) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back(toml_text(value));
  return "[" + join(parts, ", ") + "]";
}

}  // namespace merak::config
