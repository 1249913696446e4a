#include "merak/checkpoint/step_folder.h"

#include <fmt/format.h>

#include <charconv>

#include "merak/checkpoint/index.h"

namespace merak::checkpoint {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kTemporary = ".tmp";

}  // namespace

std::string step_folder_name(std::int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

std::optional<std::int64_t> parse_step_folder(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  std::int64_t step = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, step);
  if (stop != end || error != std::errc() || step_folder_name(step) != name) {
    return std::nullopt;
  }
  return step;
}

bool is_checkpoint_file(std::string_view name) {
  if (name.ends_with(kTemporary)) {
    name.remove_suffix(kTemporary.size());
  }
  return name == kIndexFile ||
         ((name.starts_with("weights-r") || name.starts_with("optimizer-r")) &&
          name.ends_with(".safetensors"));
}

}  // namespace merak::checkpoint
