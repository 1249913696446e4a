#include "merak/dist/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

// bf16 is the upper half of f32, rounded to nearest, ties to even.
struct BFloat16 {
  std::uint16_t bits;

  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static BFloat16 round(float value) {
    if (std::isnan(value)) return {0x7fc0};
    const auto raw = std::bit_cast<std::uint32_t>(value);
    return {
        static_cast<std::uint16_t>((raw + 0x7fff + ((raw >> 16) & 1)) >> 16)};
  }
};

template <typename T>
T round_to(float value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16::round(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename Sum, typename T>
Sum widen(T value) {
  return static_cast<Sum>(value);
}

// Integer sums wrap, as in every other implementation.
template <typename Sum>
Sum combine(Sum a, Sum b, ReduceOp op) {
  if (op == ReduceOp::kMax) return std::max(a, b);
  if constexpr (std::is_integral_v<Sum>) {
    using Unsigned = std::make_unsigned_t<Sum>;
    return static_cast<Sum>(static_cast<Unsigned>(a) +
                            static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <typename T, typename Sum>
void reduce_typed(std::span<const Buffer> buffers, ReduceOp op) {
  std::vector<T*> data;
  for (const Buffer& buffer : buffers)
    data.push_back(static_cast<T*>(buffer.data));
  for (std::int64_t i = 0; i < buffers.front().count; ++i) {
    Sum sum = widen<Sum>(data.front()[i]);
    for (std::size_t k = 1; k < data.size(); ++k) {
      sum = combine<Sum>(sum, widen<Sum>(data[k][i]), op);
    }
    T result{};
    if constexpr (std::is_same_v<T, Sum>) {
      result = sum;
    } else {
      result = round_to<T>(sum);
    }
    for (T* each : data) each[i] = result;
  }
}

}  // namespace

void reduce_in_order(std::span<const Buffer> buffers, ReduceOp op) {
  switch (buffers.front().dtype) {
    case DType::kU8:
      return reduce_typed<std::uint8_t, std::uint8_t>(buffers, op);
    case DType::kI8:
      return reduce_typed<std::int8_t, std::int8_t>(buffers, op);
    case DType::kI32:
      return reduce_typed<std::int32_t, std::int32_t>(buffers, op);
    case DType::kI64:
      return reduce_typed<std::int64_t, std::int64_t>(buffers, op);
    case DType::kF16:
      return reduce_typed<_Float16, float>(buffers, op);
    case DType::kBF16:
      return reduce_typed<BFloat16, float>(buffers, op);
    case DType::kF32:
      return reduce_typed<float, float>(buffers, op);
    case DType::kF64:
      return reduce_typed<double, double>(buffers, op);
    case DType::kBool:
    case DType::kI16:
      break;
  }
  MERAK_CHECK(false, "no reduction of {}",
              merak::name_of(buffers.front().dtype));
}

}  // namespace merak::dist
