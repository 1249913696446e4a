#include "merak/checkpoint/safetensors/dtype_name.h"

#include <array>

namespace merak::checkpoint {
namespace {

constexpr std::array kAll = {
    DType::kBool, DType::kU8,  DType::kI8,   DType::kI16, DType::kI32,
    DType::kI64,  DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

}  // namespace

std::string stored_name_of(DType dtype) {
  std::string name(name_of(dtype));
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::optional<DType> dtype_from_stored_name(std::string_view name) {
  for (const DType dtype : kAll) {
    if (stored_name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

std::string_view stored_dtype_names() {
  return "one of BOOL, U8, I8, I16, I32, I64, F16, BF16, F32, F64";
}

}  // namespace merak::checkpoint
