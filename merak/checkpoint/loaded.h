// A checkpoint's files, opened and checked: shared by reading and inspecting.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "merak/checkpoint/index.h"
#include "merak/checkpoint/safetensors/safetensors_file.h"

namespace merak::checkpoint {

// How much of a checkpoint is checked.
enum class Depth {
  kStructure,  // all but the checksums of the data: reads headers only
  kData,       // everything: reads every byte
};

struct Loaded {
  Index index;
  // One for each of index.contents.files; nothing where it could not be
  // opened.
  std::vector<std::optional<SafetensorsFile>> files = {};
  std::vector<std::string> problems = {};  // none: it is sound
};

// Whether there is a checkpoint.json. Usage error if the system does not say.
bool has_index(const std::filesystem::path& folder);

// Throws a usage error only if checkpoint.json itself is missing or wrong; all
// else is listed, a sentence a problem.
Loaded load(const std::filesystem::path& folder, Depth depth);

}  // namespace merak::checkpoint
