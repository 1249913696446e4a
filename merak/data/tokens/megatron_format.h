// What Megatron-LM's indexed dataset files look like
// (docs/formats/megatron_dataset.md); shared by reader and writer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "merak/data/tokens/token_array.h"

namespace merak::data {

inline constexpr std::string_view kMegatronMagic("MMIDIDX\0\0", 9);
inline constexpr std::uint64_t kMegatronVersion = 1;
// magic, version u64, type code u8, sequences u64, document indices u64
inline constexpr std::uint64_t kMegatronHeaderBytes = 9 + 8 + 1 + 8 + 8;

// Codes 6 and 7 are floating types, which hold no tokens.
inline constexpr std::array<std::pair<std::uint8_t, TokenType>, 6>
    kMegatronTypes = {{{1, TokenType::kU8},
                       {2, TokenType::kI8},
                       {3, TokenType::kI16},
                       {4, TokenType::kI32},
                       {5, TokenType::kI64},
                       {8, TokenType::kU16}}};

}  // namespace merak::data
