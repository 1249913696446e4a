// Rank 0's part of saving: makes what the ranks wrote a checkpoint, then
// removes what is no longer wanted (docs/formats/checkpoint.md, "Writing").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "merak/base/file_system.h"

namespace merak::checkpoint {

// Told of what went wrong without making the save fail.
using Warn = std::function<void(const std::string&)>;

struct Publication {
  std::filesystem::path checkpoints;  // RUN/checkpoints
  std::int64_t step = 0;
  // JSON objects, as text.
  std::string layout = "{}";
  std::string model = "{}";
  std::string trainer = "{}";
  int keep = 1;  // newest checkpoints that stay, this one included; at least 1
};

// `manifests` are those of all ranks, in any order; the caller has gathered
// them, so every rank's files are on disk. Returns the checkpoint's folder when
// it is published and on disk.
//
// Runtime error, and no checkpoint, if a rank reported a failure, a rank's
// file is not visible here (no shared disk), or writing fails. Manifests that
// contradict each other or leave elements out are an internal error; a model
// or trainer that no reader would take (nested too deep) is a usage error. Old
// checkpoints that cannot be removed are warned of.
std::filesystem::path publish(FileSystem& files, const Publication& what,
                              std::span<const std::string> manifests,
                              const Warn& warn);

}  // namespace merak::checkpoint
