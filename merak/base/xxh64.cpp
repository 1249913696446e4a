#include "merak/base/xxh64.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace merak {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files and hashes are defined little-endian");

// The five primes of the specification.
constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

// Consumes whole 32-byte stripes and folds the four lanes into one value.
std::uint64_t hash_stripes(std::string_view& bytes, std::uint64_t seed) {
  std::array<std::uint64_t, 4> lanes = {seed + kPrime1 + kPrime2,
                                        seed + kPrime2, seed, seed - kPrime1};
  for (; bytes.size() >= 32; bytes.remove_prefix(32)) {
    for (std::size_t i = 0; i < 4; ++i) {
      lanes[i] = round(lanes[i], load<std::uint64_t>(bytes.data() + 8 * i));
    }
  }
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) +
                       std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (const std::uint64_t lane : lanes) {
    hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  return hash;
}

std::uint64_t hash_tail(std::string_view bytes, std::uint64_t hash) {
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    hash ^= round(0, load<std::uint64_t>(bytes.data()));
    hash = std::rotl(hash, 27) * kPrime1 + kPrime4;
  }
  if (bytes.size() >= 4) {
    hash ^= load<std::uint32_t>(bytes.data()) * kPrime1;
    hash = std::rotl(hash, 23) * kPrime2 + kPrime3;
    bytes.remove_prefix(4);
  }
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte) * kPrime5;
    hash = std::rotl(hash, 11) * kPrime1;
  }
  return hash;
}

}  // namespace

std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed) {
  const std::uint64_t length = bytes.size();
  std::uint64_t hash =
      length >= 32 ? hash_stripes(bytes, seed) : seed + kPrime5;
  hash = hash_tail(bytes, hash + length);
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace merak
