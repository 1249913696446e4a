// JSON from files that may be broken or hostile. Everything wrong is a usage
// error of one line that begins with `where`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "merak/checkpoint/safetensors/slice.h"

namespace merak::checkpoint {

// Refuses what JSON leaves open: a name given twice in one object, and values
// nested deeper than `max_depth`.
nlohmann::json parse_strict(std::string_view text, const std::string& where,
                            int max_depth);

// A name for messages: in quotes, on one line, cut where it is very long.
std::string quote_name(std::string_view name);

// The members of an object whose keys are exactly `keys`. Each getter checks
// the type and says what it found. Borrows the object.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where,
         std::initializer_list<std::string_view> keys);

  std::int64_t natural(std::string_view key) const;  // 0 to 2^63 - 1
  const std::string& string(std::string_view key) const;
  std::uint64_t hash(std::string_view key) const;  // 16 hexadecimal digits
  Shape naturals(std::string_view key) const;      // a list
  DType dtype(std::string_view key) const;         // by safetensors' name
  const nlohmann::json& list(std::string_view key) const;
  const nlohmann::json& object(std::string_view key) const;

 private:
  const nlohmann::json& at(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, std::string_view rule) const;

  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace merak::checkpoint
