#include "merak/checkpoint/safetensors/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace merak::checkpoint {
namespace {

template <typename To, typename From>
To convert(From value, DType from, DType to) {
  To result{};
  convert_elements(std::as_bytes(std::span(&value, 1)), from,
                   std::as_writable_bytes(std::span(&result, 1)), to);
  return result;
}

std::uint16_t narrow(double value, DType to) {
  return convert<std::uint16_t>(value, DType::kF64, to);
}

double widen(std::uint16_t bits, DType from) {
  return convert<double>(bits, from, DType::kF64);
}

TEST(Convert, WidensKnownValues) {
  EXPECT_EQ(widen(0x3C00, DType::kF16), 1.0);
  EXPECT_EQ(widen(0xC100, DType::kF16), -2.5);
  EXPECT_EQ(widen(0x7BFF, DType::kF16), 65504.0);
  EXPECT_EQ(widen(0x0001, DType::kF16), 0x1p-24);
  EXPECT_EQ(widen(0x83FF, DType::kF16), -1023 * 0x1p-24);
  EXPECT_EQ(widen(0xFC00, DType::kF16), -INFINITY);
  EXPECT_EQ(widen(0x3F80, DType::kBF16), 1.0);
  EXPECT_EQ(widen(0x0001, DType::kBF16), 0x1p-133);
  EXPECT_TRUE(std::signbit(widen(0x8000, DType::kF16)));
}

TEST(Convert, AllSixteenBitValuesComeBack) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const double value = widen(bits, dtype);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(widen(narrow(value, dtype), dtype)));
      } else {
        EXPECT_EQ(narrow(value, dtype), bits);
      }
    }
  }
}

// Between two neighbours the nearer one, at the middle the even one: for every
// pair of neighbours, the last of them the step to infinity.
TEST(Convert, RoundsToNearestEven) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::uint16_t infinity = dtype == DType::kF16 ? 0x7C00 : 0x7F80;
    for (std::uint16_t low = 0; low < infinity; ++low) {
      const auto high = static_cast<std::uint16_t>(low + 1);
      const double below = widen(low, dtype);
      const double step =
          high < infinity
              ? widen(high, dtype) - below
              : below - widen(static_cast<std::uint16_t>(low - 1), dtype);
      const double middle = below + step / 2;
      EXPECT_EQ(narrow(middle, dtype), low % 2 == 0 ? low : high);
      EXPECT_EQ(narrow(std::nextafter(middle, 0.0), dtype), low);
      EXPECT_EQ(narrow(std::nextafter(middle, INFINITY), dtype), high);
      EXPECT_EQ(narrow(-std::nextafter(middle, INFINITY), dtype),
                high | 0x8000);
    }
    EXPECT_EQ(narrow(std::numeric_limits<double>::max(), dtype), infinity);
    EXPECT_EQ(narrow(5e-324, dtype), 0);
    EXPECT_EQ(narrow(-0.0, dtype), 0x8000);
  }
}

TEST(Convert, SingleAndDouble) {
  EXPECT_EQ(convert<float>(0.1, DType::kF64, DType::kF32), 0.1f);
  EXPECT_EQ(convert<double>(0.1f, DType::kF32, DType::kF64), double{0.1f});
  EXPECT_EQ(convert<std::uint16_t>(1.00390625f, DType::kF32, DType::kBF16),
            0x3F80);  // a tie
}

TEST(Convert, CopiesEqualTypes) {
  const std::vector<std::int64_t> from = {1, -2, 3};
  std::vector<std::int64_t> to(3);
  convert_elements(std::as_bytes(std::span(from)), DType::kI64,
                   std::as_writable_bytes(std::span(to)), DType::kI64);
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace merak::checkpoint
