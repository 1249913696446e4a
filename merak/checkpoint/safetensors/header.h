// The header of a safetensors file (docs/formats/safetensors.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "merak/checkpoint/safetensors/slice.h"

namespace merak::checkpoint {

using Metadata = std::map<std::string, std::string>;

// What a tensor is called and looks like.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const TensorSpec&) const = default;
};

// A tensor in a file: bytes [begin, end) of the data.
struct StoredTensor {
  TensorSpec spec;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::uint64_t data_begin = 0;            // in the file
  std::vector<StoredTensor> tensors = {};  // by offset
  Metadata metadata = {};
};

// Checks everything the format page demands of `file`, the whole file's bytes.
// `path` is for messages. Usage error at the first rule broken.
Header parse_header(std::string_view file, const std::string& path);

// The bytes before the data, for tensors in the given order. A multiple of 64.
std::string format_header(const std::vector<TensorSpec>& tensors,
                          const Metadata& metadata);

}  // namespace merak::checkpoint
