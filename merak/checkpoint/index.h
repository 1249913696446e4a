// checkpoint.json: text to values and back (docs/formats/checkpoint.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "merak/checkpoint/contents.h"

namespace merak::checkpoint {

inline constexpr std::string_view kIndexFile = "checkpoint.json";

struct Index {
  std::int64_t step = 0;
  std::int64_t sequence = 0;
  // JSON objects, as text.
  std::string layout = "{}";
  std::string model = "{}";
  std::string trainer = "{}";
  Contents contents;
};

// The file's text, its checksum included. The tensors are sorted.
std::string format_index(const Index& index);

// Checks the checksum, then everything the format page says of this file:
// values, sorted tensors, parts that cover each tensor once. Usage error that
// begins with `path`.
Index parse_index(std::string_view text, const std::string& path);

}  // namespace merak::checkpoint
