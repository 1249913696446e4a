#include "merak/checkpoint/safetensors/strict_json.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <utility>
#include <vector>

#include "merak/base/error.h"
#include "merak/checkpoint/safetensors/dtype_name.h"

namespace merak::checkpoint {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxQuoted = 100;

std::string shorten(std::string text) {
  if (text.size() > kMaxQuoted) text.replace(kMaxQuoted, text.npos, "...");
  return text;
}

// Bytes that are no UTF-8 come out as U+FFFD.
std::string dump(const json& value) {
  return shorten(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace

json parse_strict(std::string_view text, const std::string& where,
                  int max_depth) {
  std::vector<std::unordered_set<std::string>> names;
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= max_depth) {
        fail_usage("{}: values nested deeper than {}", where, max_depth);
      }
      if (event == Event::object_start) names.emplace_back();
    } else if (event == Event::object_end) {
      names.pop_back();
    } else if (event == Event::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!names.back().insert(name).second) {
        fail_usage("{}: the name {} is given twice", where, quote_name(name));
      }
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    std::string reason = error.what();
    reason.erase(0, std::min(reason.find("] ") + 2, reason.size()));
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    fail_usage("{} is not valid JSON: {}", where, shorten(reason));
  }
}

std::string quote_name(std::string_view name) {
  std::string text = dump(json(name));
  if (text.size() <= kMaxQuoted) {
    text.front() = '\'';
    text.back() = '\'';
  }
  return text;
}

Fields::Fields(const json& object, std::string where,
               std::initializer_list<std::string_view> keys)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    fail_usage("{} is {}; it takes an object", where_, dump(object));
  }
  for (const std::string_view key : keys) {
    if (!object.contains(key)) fail_usage("{} lacks '{}'", where_, key);
  }
  for (const auto& [name, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) {
      fail_usage("{} has the unknown key {}; known are {}", where_,
                 quote_name(name), fmt::join(keys, ", "));
    }
  }
}

const json& Fields::at(std::string_view key) const {
  return object_.find(key).value();
}

void Fields::refuse(std::string_view key, std::string_view rule) const {
  fail_usage("{}: {} is {}; it takes {}", where_, key, dump(at(key)), rule);
}

std::int64_t Fields::natural(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    refuse(key, "an integer from 0 to 2^63 - 1");
  }
  return value.get<std::int64_t>();
}

const std::string& Fields::string(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_string()) refuse(key, "a string");
  return value.get_ref<const std::string&>();
}

std::uint64_t Fields::hash(std::string_view key) const {
  const std::string& digits = string(key);
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 16 || stop != end || error != std::errc()) {
    refuse(key, "16 hexadecimal digits");
  }
  return value;
}

Shape Fields::naturals(std::string_view key) const {
  Shape numbers;
  for (const json& value : list(key)) {
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      refuse(key, "integers from 0 to 2^63 - 1");
    }
    numbers.push_back(value.get<std::int64_t>());
  }
  return numbers;
}

DType Fields::dtype(std::string_view key) const {
  const std::optional<DType> dtype = dtype_from_stored_name(string(key));
  if (!dtype) refuse(key, stored_dtype_names());
  return *dtype;
}

const json& Fields::list(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_array()) refuse(key, "a list");
  return value;
}

const json& Fields::object(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_object()) refuse(key, "an object");
  return value;
}

}  // namespace merak::checkpoint
