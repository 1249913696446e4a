#include "merak/data/permutation.h"

#include <algorithm>
#include <bit>

#include "merak/base/error.h"

namespace merak::data {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed,
                         std::uint64_t stream)
    : size_(size) {
  MERAK_CHECK(size > 0 && size <= std::uint64_t{1} << 62, "size {}", size);
  const int bits = static_cast<int>(std::bit_width(size - 1));
  half_bits_ = std::max(1, (bits + 1) / 2);
  std::uint64_t state = mix(seed + kGoldenGamma) ^ mix(stream ^ kGoldenGamma);
  for (std::uint64_t& key : keys_) key = mix(state += kGoldenGamma);
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mix(right + key) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t place) const {
  MERAK_CHECK(place < size_, "place {} of {}", place, size_);
  do {
    place = encrypt(place);
  } while (place >= size_);
  return place;
}

}  // namespace merak::data
