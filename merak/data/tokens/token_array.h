// A run of token ids as they lie in a file: any integer width, any alignment,
// little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace merak::data {

enum class TokenType : std::uint8_t { kU8, kI8, kI16, kU16, kI32, kU32, kI64 };

std::size_t size_of(TokenType type);
std::string_view name_of(TokenType type);  // "u16"

// Owns nothing: the bytes must outlive it.
struct TokenArray {
  TokenType type = TokenType::kU16;
  const char* data = nullptr;
  std::uint64_t count = 0;
};

// Copies tokens first .. first + out.size() of the array, which must exist.
void widen(const TokenArray& array, std::uint64_t first,
           std::span<std::int64_t> out);

// The narrowest unsigned type of a cache: u16 up to 65536 tokens, else u32.
TokenType narrow_type(std::int64_t vocabulary_size);

}  // namespace merak::data
