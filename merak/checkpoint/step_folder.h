// Names in a run's checkpoints/ folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace merak::checkpoint {

inline constexpr std::string_view kCheckpointsFolder = "checkpoints";
// What a checkpoint's folder is renamed to before its files go.
inline constexpr std::string_view kDeletedSuffix = ".deleted";

std::string step_folder_name(std::int64_t step);  // "step-00000100"
// The step of such a name; nothing for other names, also "step-100".
std::optional<std::int64_t> parse_step_folder(std::string_view name);

// Files that a save may leave in a step's folder, under their final or their
// temporary name. Others are a user's and are never removed.
bool is_checkpoint_file(std::string_view name);

}  // namespace merak::checkpoint
