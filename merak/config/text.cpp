#include "merak/config/text.h"

#include <fmt/core.h>

#include "merak/base/error.h"

namespace merak::config {
namespace {

std::string array_text(const nlohmann::json& array) {
  std::vector<std::string> parts;
  for (const auto& element : array) parts.push_back(toml_text(element));
  return "[" + join(parts, ", ") + "]";
}

std::string object_text(const nlohmann::json& object) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : object.items()) {
    parts.push_back(toml_key(key) + " = " + toml_text(value));
  }
  return parts.empty() ? "{}" : "{ " + join(parts, ", ") + " }";
}

}  // namespace

std::string toml_text(bool value) { return value ? "true" : "false"; }

std::string toml_text(std::int64_t value) { return fmt::format("{}", value); }

std::string toml_text(double value) {
  std::string text = fmt::format("{}", value);
  // "1" would parse back as an integer; "inf" and "nan" are TOML's own words.
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

std::string toml_text(const std::string& value) {
  std::string text = "\"";
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\u{:04X}", byte);
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string toml_text(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::boolean:
      return toml_text(value.get<bool>());
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      return toml_text(value.get<std::int64_t>());
    case nlohmann::json::value_t::number_float:
      return toml_text(value.get<double>());
    case nlohmann::json::value_t::string:
      return toml_text(value.get<std::string>());
    case nlohmann::json::value_t::array:
      return array_text(value);
    case nlohmann::json::value_t::object:
      return object_text(value);
    default:
      fail_usage(
          "model.config has a null; TOML cannot say that: leave the "
          "key out");
  }
}

std::string toml_key(std::string_view key) {
  constexpr std::string_view kBare =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!key.empty() && key.find_first_not_of(kBare) == std::string_view::npos) {
    return std::string(key);
  }
  return toml_text(std::string(key));
}

}  // namespace merak::config
