#include "merak/trace/tensors.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/Allocator.h>

#include <algorithm>
#include <array>
#include <utility>

#include "merak/base/error.h"

namespace merak::trace {
namespace {

constexpr std::array<std::pair<DType, at::ScalarType>, 10> kTypes = {{
    {DType::kBool, at::kBool},
    {DType::kU8, at::kByte},
    {DType::kI8, at::kChar},
    {DType::kI16, at::kShort},
    {DType::kI32, at::kInt},
    {DType::kI64, at::kLong},
    {DType::kF16, at::kHalf},
    {DType::kBF16, at::kBFloat16},
    {DType::kF32, at::kFloat},
    {DType::kF64, at::kDouble},
}};

std::vector<std::int64_t> contiguous_strides(const graph::Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

void release_nothing(void*) {}

// Gives null pointers, and marks them by its deleter: is_proxy looks for it.
class NullAllocator final : public c10::Allocator {
 public:
  explicit NullAllocator(c10::Device device) : device_(device) {}
  c10::DataPtr allocate(std::size_t) override {
    return {nullptr, nullptr, &release_nothing, device_};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_nothing; }
  void copy_data(void*, const void*, std::size_t) const override {
    MERAK_CHECK(false, "a proxy has no data to copy");
  }

 private:
  c10::Device device_;
};

}  // namespace

DType to_dtype(at::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  fail_usage(
      "tensors of type {} cannot be captured; known are bool, integers "
      "of 8 to 64 bits, f16, bf16, f32 and f64",
      c10::toString(type));
}

at::ScalarType to_scalar_type(DType dtype) {
  return kTypes[static_cast<std::size_t>(dtype)].second;
}

graph::TensorType type_of(const at::Tensor& tensor) {
  graph::TensorType type{
      to_dtype(tensor.scalar_type()), tensor.sizes().vec(), {}};
  if (!tensor.is_contiguous()) type.strides = tensor.strides().vec();
  return type;
}

at::Tensor make_proxy(at::IntArrayRef sizes, at::IntArrayRef strides,
                      at::ScalarType type, c10::Device device) {
  // LibTorch keeps the allocator in the storage, for as long as the process.
  static auto* cpu = new NullAllocator(c10::Device(c10::kCPU));
  static auto* cuda = new NullAllocator(c10::Device(c10::kCUDA, 0));
  const c10::DispatchKeySet keys(device.is_cuda() ? c10::DispatchKey::CUDA
                                                  : c10::DispatchKey::CPU);
  return at::detail::empty_strided_generic(
      sizes, strides, device.is_cuda() ? cuda : cpu, keys, type);
}

at::Tensor make_proxy(const graph::TensorType& type, c10::Device device) {
  std::vector<std::int64_t> strides = type.strides;
  if (strides.empty()) strides = contiguous_strides(type.shape);
  return make_proxy(type.shape, strides, to_scalar_type(type.dtype), device);
}

bool is_proxy(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return false;
  return tensor.storage().data_ptr().get_deleter() == &release_nothing;
}

}  // namespace merak::trace
