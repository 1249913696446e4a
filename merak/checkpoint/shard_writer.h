// A rank's part of saving a checkpoint: writes its shards, says what it wrote.
//
//   std::string manifest;
//   try {
//     manifest = write_shards(system_files(), target, tensors);
//   } catch (const Error& error) {
//     manifest = failed_manifest(target, error.what());   // rank 0 will say so
//   }
//   // gather manifests on rank 0, which calls publish() (publish.h)
//
// Ranks write at the same time; each element of each tensor is written by one
// of them. Nothing counts before publish().
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "merak/base/file_system.h"
#include "merak/checkpoint/contents.h"

namespace merak::checkpoint {

// A box of a tensor in the caller's memory, row-major and dense.
struct ShardTensor {
  TensorInfo info;  // the whole tensor
  Slice slice;      // may be empty: then this rank holds none of it
  std::span<const std::byte> bytes;
};

struct SaveTarget {
  std::filesystem::path checkpoints;  // RUN/checkpoints, made if missing
  std::int64_t step = 0;              // training steps done
  int rank = 0;
};

// Returns when all files are on disk. Runtime error that names path, reason
// and bytes needed; this rank's files of this save are removed then. The same
// box twice, or bytes that do not fit a box, is an internal error.
std::string write_shards(FileSystem& files, const SaveTarget& target,
                         std::span<const ShardTensor> tensors);

// The manifest of a rank that could not write, so that it can still take part
// in the gathering.
std::string failed_manifest(const SaveTarget& target, std::string_view why);

// What write_shards returns, read back. Usage error if it is something else.
struct Manifest {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::string failure;  // empty: it wrote
  Contents contents;
};
std::string format_manifest(const Manifest& manifest);
Manifest parse_manifest(std::string_view text);

}  // namespace merak::checkpoint
