// Element types, shared by the graph, files and communication. Names are those
// of safetensors and PyTorch: "f32" in graphs, "F32" in safetensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace merak {

enum class DType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
};

std::size_t size_of(DType dtype);  // bytes of one element
bool is_floating(DType dtype);
std::string_view name_of(DType dtype);         // "f32"
DType dtype_from_name(std::string_view name);  // usage error if unknown

}  // namespace merak
