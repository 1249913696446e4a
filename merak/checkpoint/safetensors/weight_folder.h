// The weights of a Hugging Face folder: model.safetensors, or the files of
// model.safetensors.index.json. Const use from several threads is safe.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merak/checkpoint/safetensors/safetensors_file.h"

namespace merak::checkpoint {

class WeightFolder {
 public:
  // Usage error if neither file is there, or any of them is unsound.
  explicit WeightFolder(const std::filesystem::path& folder);

  const std::vector<SafetensorsFile>& files() const { return files_; }
  std::vector<std::string> names() const;  // sorted
  const TensorSpec* find(std::string_view name) const;
  // Usage error that suggests the nearest name.
  const TensorSpec& at(std::string_view name) const;

  // Copies a box of a tensor. `wanted` is the model's idea of it: another shape
  // is a usage error that names both; another floating type is converted, any
  // other type is an error too. `target` is as long as the box in the wanted
  // type.
  void read(const TensorSpec& wanted, const Slice& slice,
            std::span<std::byte> target) const;

 private:
  struct Place {
    std::size_t file;
    const StoredTensor* tensor;
  };
  void add_index(const std::filesystem::path& index);
  const Place& place(std::string_view name) const;

  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace merak::checkpoint
