#include "merak/data/tokens/token_array.h"

#include <cstring>

#include "merak/base/error.h"

namespace merak::data {
namespace {

template <typename T>
void widen_from(const char* from, std::span<std::int64_t> out) {
  for (std::int64_t& token : out) {
    T value;
    std::memcpy(&value, from, sizeof value);
    // Numbers, not characters: the sign belongs to them.
    // NOLINTNEXTLINE(bugprone-signed-char-misuse)
    token = static_cast<std::int64_t>(value);
    from += sizeof value;
  }
}

}  // namespace

std::size_t size_of(TokenType type) {
  switch (type) {
    case TokenType::kU8:
    case TokenType::kI8:
      return 1;
    case TokenType::kI16:
    case TokenType::kU16:
      return 2;
    case TokenType::kI32:
    case TokenType::kU32:
      return 4;
    case TokenType::kI64:
      return 8;
  }
  MERAK_CHECK(false, "token type {}", static_cast<int>(type));
}

std::string_view name_of(TokenType type) {
  switch (type) {
    case TokenType::kU8:
      return "u8";
    case TokenType::kI8:
      return "i8";
    case TokenType::kI16:
      return "i16";
    case TokenType::kU16:
      return "u16";
    case TokenType::kI32:
      return "i32";
    case TokenType::kU32:
      return "u32";
    case TokenType::kI64:
      return "i64";
  }
  MERAK_CHECK(false, "token type {}", static_cast<int>(type));
}

void widen(const TokenArray& array, std::uint64_t first,
           std::span<std::int64_t> out) {
  MERAK_CHECK(first <= array.count && out.size() <= array.count - first,
              "tokens {} to {} of {}", first, first + out.size(), array.count);
  const char* from = array.data + first * size_of(array.type);
  switch (array.type) {
    case TokenType::kU8:
      return widen_from<std::uint8_t>(from, out);
    case TokenType::kI8:
      return widen_from<std::int8_t>(from, out);
    case TokenType::kI16:
      return widen_from<std::int16_t>(from, out);
    case TokenType::kU16:
      return widen_from<std::uint16_t>(from, out);
    case TokenType::kI32:
      return widen_from<std::int32_t>(from, out);
    case TokenType::kU32:
      return widen_from<std::uint32_t>(from, out);
    case TokenType::kI64:
      return widen_from<std::int64_t>(from, out);
  }
}

TokenType narrow_type(std::int64_t vocabulary_size) {
  return vocabulary_size <= 65536 ? TokenType::kU16 : TokenType::kU32;
}

}  // namespace merak::data
