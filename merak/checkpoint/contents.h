// What files hold, in the terms of docs/formats/checkpoint.md: the part of
// checkpoint.json that a rank's manifest has too.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "merak/checkpoint/safetensors/slice.h"

namespace merak::checkpoint {

// The kind of parameters and persistent buffers. Every other kind is the name
// of an optimizer's state ("exp_avg"); it has no '/' and is not empty.
inline constexpr std::string_view kWeight = "weight";

// A whole tensor of a checkpoint or a model.
struct TensorInfo {
  std::string kind{kWeight};
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const TensorInfo&) const = default;
};

std::string text(const TensorInfo& tensor);  // "exp_avg of 'wte.weight'"

struct FileEntry {
  std::string name;  // in the checkpoint's folder
  std::uint64_t bytes = 0;
  std::uint64_t header_xxh64 = 0;
};

// A box of a tensor, stored under `key` in files[file].
struct Part {
  std::size_t file = 0;
  std::string key;
  Slice slice;
  std::uint64_t xxh64 = 0;
};

struct TensorEntry {
  TensorInfo info;
  std::vector<Part> parts = {};
};

struct Contents {
  std::vector<FileEntry> files;
  std::vector<TensorEntry> tensors;  // sorted by kind and name once merged
};

// Sorts by kind and name.
void sort_tensors(std::vector<TensorEntry>& tensors);

nlohmann::json files_to_json(const std::vector<FileEntry>& files);
nlohmann::json tensors_to_json(const std::vector<TensorEntry>& tensors);

// Usage errors that begin with `where`, for anything that the format page does
// not allow in these two lists taken alone (coverage is for the caller).
Contents parse_contents(const nlohmann::json& files,
                        const nlohmann::json& tensors,
                        const std::string& where);

}  // namespace merak::checkpoint
