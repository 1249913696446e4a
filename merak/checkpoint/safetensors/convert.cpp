#include "merak/checkpoint/safetensors/convert.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "merak/base/error.h"

namespace merak::checkpoint {
namespace {

// The 16-bit formats differ in the number of mantissa bits alone.
struct Half {
  static constexpr int kMantissa = 10;
  static constexpr int kBias = 15;
};
struct BFloat {
  static constexpr int kMantissa = 7;
  static constexpr int kBias = 127;
};

constexpr int kDoubleMantissa = 52;
constexpr int kDoubleBias = 1023;

template <typename Format>
std::uint16_t round_to(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << 15);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  const int biased = static_cast<int>((bits >> kDoubleMantissa) & 0x7ff);
  constexpr std::uint64_t kInfinity =
      ((std::uint64_t{1} << (15 - Format::kMantissa)) - 1) << Format::kMantissa;
  if (biased == 0x7ff && mantissa != 0) {
    const std::uint64_t quiet = std::uint64_t{1} << (Format::kMantissa - 1);
    return static_cast<std::uint16_t>(sign | kInfinity | quiet);
  }
  const int exponent = biased - kDoubleBias + Format::kBias;
  if (exponent >= 2 * Format::kBias + 1) {
    return static_cast<std::uint16_t>(sign | kInfinity);
  }
  // Subnormal results (exponent <= 0) lose one more bit each step down.
  const int shift =
      kDoubleMantissa - Format::kMantissa + (exponent > 0 ? 0 : 1 - exponent);
  if (shift > kDoubleMantissa + 1) return sign;  // below half the least one
  const std::uint64_t significand =
      mantissa | (std::uint64_t{1} << kDoubleMantissa);
  std::uint64_t rounded = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // A carry out of the mantissa raises the exponent, up to infinity, by itself.
  if (exponent > 0) {
    rounded += static_cast<std::uint64_t>(exponent - 1) << Format::kMantissa;
  }
  return static_cast<std::uint16_t>(sign | rounded);
}

double from_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    const double value = static_cast<double>(mantissa) * 0x1p-24;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

double load(const std::byte* at, DType dtype) {
  const auto take = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kF16:
      return from_half(take(std::uint16_t{}));
    case DType::kBF16:
      return std::bit_cast<float>(
          static_cast<std::uint32_t>(take(std::uint16_t{})) << 16);
    case DType::kF32:
      return take(float{});
    default:
      return take(double{});
  }
}

void store(std::byte* at, DType dtype, double value) {
  const auto put = [at](auto number) {
    std::memcpy(at, &number, sizeof number);
  };
  switch (dtype) {
    case DType::kF16:
      return put(round_to<Half>(value));
    case DType::kBF16:
      return put(round_to<BFloat>(value));
    case DType::kF32:
      return put(static_cast<float>(value));
    default:
      return put(value);
  }
}

}  // namespace

void convert_elements(std::span<const std::byte> source, DType from,
                      std::span<std::byte> target, DType to) {
  const std::size_t count = source.size() / size_of(from);
  MERAK_CHECK(source.size() == count * size_of(from) &&
                  target.size() == count * size_of(to),
              "{} bytes of {} to {} bytes of {}", source.size(), name_of(from),
              target.size(), name_of(to));
  if (from == to) {
    if (count > 0) std::memcpy(target.data(), source.data(), source.size());
    return;
  }
  MERAK_CHECK(is_floating(from) && is_floating(to), "{} to {}", name_of(from),
              name_of(to));
  for (std::size_t i = 0; i < count; ++i) {
    store(target.data() + i * size_of(to), to,
          load(source.data() + i * size_of(from), from));
  }
}

}  // namespace merak::checkpoint
