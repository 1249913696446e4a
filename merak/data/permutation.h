// A pseudo-random order of N things, computed one place at a time: no table,
// so 10^11 samples cost what ten do.
#pragma once

#include <array>
#include <cstdint>

namespace merak::data {

// A balanced Feistel network over the smallest power of four that is at least
// `size`, followed until it lands inside (cycle walking): Black and Rogaway,
// "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. The walk takes under
// four steps on average. The round function is the finaliser of SplitMix64
// (Steele, Lea and Flood, OOPSLA 2014). Not cryptographic.
//
// The order depends on (size, seed, stream) alone, on every machine; changing
// it breaks resumed runs (docs/data_order.md has the definition).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream);

  // A bijection of 0 .. size - 1.
  std::uint64_t operator()(std::uint64_t place) const;

 private:
  static constexpr int kRounds = 8;

  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_;
  int half_bits_;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace merak::data
