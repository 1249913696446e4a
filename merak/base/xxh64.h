// XXH64, the 64-bit hash of the xxHash specification 0.1.1 by Yann Collet:
// fast, stable across machines, not cryptographic. It names contents (caches,
// fingerprints); an accidental collision has odds of about 2^-64 a pair.
#pragma once

#include <cstdint>
#include <string_view>

namespace merak {

std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace merak
