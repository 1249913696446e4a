#include "merak/checkpoint/safetensors/safetensors_file.h"

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/checkpoint/safetensors/strict_json.h"

namespace merak::checkpoint {

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path.string()),
      file_(std::make_unique<MappedFile>(path)),
      header_(parse_header(file_->bytes(), path_)) {
  for (std::size_t i = 0; i < header_.tensors.size(); ++i) {
    by_name_.emplace(header_.tensors[i].spec.name, i);
  }
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

const StoredTensor& SafetensorsFile::at(std::string_view name) const {
  if (const StoredTensor* tensor = find(name)) return *tensor;
  std::vector<std::string> names;
  for (const auto& [key, index] : by_name_) names.push_back(key);
  const auto near = nearest(name, names);
  fail_usage("{} has no tensor {}{}", path_, quote_name(name),
             near ? "; did you mean " + quote_name(*near) : "");
}

std::span<const std::byte> SafetensorsFile::bytes(
    const StoredTensor& tensor) const {
  return std::as_bytes(std::span(file_->bytes()))
      .subspan(header_.data_begin + tensor.begin, tensor.end - tensor.begin);
}

void SafetensorsFile::read(const StoredTensor& tensor, const Slice& slice,
                           std::span<std::byte> target) const {
  MERAK_CHECK(is_inside(slice, tensor.spec.shape), "box {} of '{}', shape {}",
              text(slice), tensor.spec.name, text(tensor.spec.shape));
  MERAK_CHECK(checked_bytes(slice.extent, tensor.spec.dtype) ==
                  static_cast<std::int64_t>(target.size()),
              "box {} of '{}' into {} bytes", text(slice), tensor.spec.name,
              target.size());
  copy_overlap(bytes(tensor), whole(tensor.spec.shape), target, slice,
               size_of(tensor.spec.dtype));
}

std::string_view SafetensorsFile::header_bytes() const {
  return file_->bytes().substr(0, header_.data_begin);
}

}  // namespace merak::checkpoint
