// Reading a checkpoint, in whatever layout it was written.
//
//   const Checkpoint saved = open_checkpoint(path);
//   saved.require(model);                    // names, types, shapes: all or
//   error saved.read({"exp_avg", name, dtype, shape}, my_slice, my_memory);
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merak/checkpoint/loaded.h"
#include "merak/checkpoint/publish.h"

namespace merak::checkpoint {

// A sound checkpoint. Keeps its files mapped: they may be removed meanwhile,
// not shortened. Const use from several threads is safe.
class Checkpoint {
 public:
  Checkpoint(std::filesystem::path folder, Loaded loaded);

  const std::filesystem::path& folder() const { return folder_; }
  std::int64_t step() const { return loaded_.index.step; }
  // JSON objects, as text.
  const std::string& layout() const { return loaded_.index.layout; }
  const std::string& model() const { return loaded_.index.model; }
  const std::string& trainer() const { return loaded_.index.trainer; }

  // Sorted by kind and name.
  const std::vector<TensorEntry>& tensors() const {
    return loaded_.index.contents.tensors;
  }
  const TensorInfo* find(std::string_view kind, std::string_view name) const;

  // Compares with all tensors that the model and its optimizer have: one
  // usage error that names the first that are missing, left over, or of
  // another type or shape.
  void require(std::span<const TensorInfo> wanted) const;

  // Copies a box of a tensor, put together from the parts that hold it, to
  // `target`, which is as long as the box. The box lies inside the tensor.
  // Usage error if the tensor is missing, or its type or shape differs from
  // `wanted`: it names both.
  void read(const TensorInfo& wanted, const Slice& slice,
            std::span<std::byte> target) const;

 private:
  const TensorEntry* entry(std::string_view kind, std::string_view name) const;
  std::string difference(const TensorInfo& wanted) const;

  std::filesystem::path folder_;
  Loaded loaded_;
};

// Usage error, naming the first thing wrong, unless the checkpoint is sound.
// Where rank 0 has checked the data, others need only the structure.
Checkpoint open_checkpoint(const std::filesystem::path& folder,
                           Depth depth = Depth::kData);

// The newest sound checkpoint in a run folder: the one published last, also
// where a run went back and overtook itself. `skipped` hears of each newer one
// that was passed over, and why. Nothing if there is none.
std::optional<std::filesystem::path> find_newest_complete(
    const std::filesystem::path& run_folder, const Warn& skipped,
    Depth depth = Depth::kData);

}  // namespace merak::checkpoint
