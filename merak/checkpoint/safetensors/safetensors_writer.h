// Writes safetensors files as streams: no more than what the caller hands over
// at a time is in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "merak/base/file_system.h"
#include "merak/checkpoint/safetensors/header.h"

namespace merak::checkpoint {

// Takes the next bytes of the tensor being written.
using Sink = std::function<void(std::span<const std::byte>)>;
// Sends all bytes of tensor `index`, row-major, in pieces of any size.
using Source = std::function<void(std::size_t index, const Sink& sink)>;

struct WrittenFile {
  std::uint64_t bytes = 0;
  std::uint64_t header_xxh64 = 0;
};

// Calls `source` once for each tensor, in the file's order (falling element
// size, then name); `index` is the place in `tensors`. The file appears under
// `path` whole and synced, or not at all. Runtime errors name the path and the
// bytes it needs; what `source` throws passes through.
WrittenFile write_safetensors(FileSystem& files,
                              const std::filesystem::path& path,
                              std::span<const TensorSpec> tensors,
                              const Metadata& metadata, const Source& source);

}  // namespace merak::checkpoint
