// A safetensors file, mapped read-only. Opening it checks all of
// docs/formats/safetensors.md before anything is believed; usage errors name
// file, tensor, value and rule. Const use from several threads is safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merak/base/mapped_file.h"
#include "merak/checkpoint/safetensors/header.h"

namespace merak::checkpoint {

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }

  const StoredTensor* find(std::string_view name) const;
  // Usage error that suggests the nearest name.
  const StoredTensor& at(std::string_view name) const;

  // A tensor's bytes, row-major, valid while this object lives. Aligned for
  // its elements in files that Merak wrote, not in all.
  std::span<const std::byte> bytes(const StoredTensor& tensor) const;

  // Copies a box of the tensor to `target`, which is as long as the box; the
  // box lies inside the tensor.
  void read(const StoredTensor& tensor, const Slice& slice,
            std::span<std::byte> target) const;

  // The file's first bytes up to the data, and all of them.
  std::string_view header_bytes() const;
  std::string_view file_bytes() const { return file_->bytes(); }

 private:
  std::string path_;
  std::unique_ptr<MappedFile> file_;
  Header header_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace merak::checkpoint
