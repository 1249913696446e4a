// What a checkpoint or a weights file holds, and whether it is sound: the
// material of `merak inspect`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "merak/checkpoint/contents.h"

namespace merak::checkpoint {

struct Inspection {
  std::string format;  // "checkpoint", "safetensors", "weights folder"
  std::vector<TensorInfo> tensors = {};
  std::int64_t parameters = 0;  // elements of kind weight
  std::uint64_t bytes = 0;      // of all its files
  std::size_t files = 0;
  std::int64_t step = 0;    // checkpoints only, as the next three
  std::string layout = {};  // JSON objects, as text
  std::string model = {};
  std::string trainer = {};
  std::vector<std::string> problems = {};  // none: it is sound
};

// Every check there is, checksums of all data included. A file or folder that
// cannot be read as what it is has one problem, and nothing else is filled in.
Inspection verify(const std::filesystem::path& checkpoint);
Inspection describe(const std::filesystem::path& safetensors_file);
Inspection describe_folder(const std::filesystem::path& weights_folder);

}  // namespace merak::checkpoint
