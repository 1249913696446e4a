#include "merak/data/tokenizer/utf8.h"

#include <array>
#include <cstdint>

namespace merak::data {
namespace {

unsigned char byte_at(std::string_view text, std::size_t position) {
  return static_cast<unsigned char>(text[position]);
}

// What a lead byte announces: the sequence's length and the range of the
// second byte, which excludes overlong forms, surrogates and too large values.
struct Lead {
  std::size_t length;
  unsigned char low, high;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

struct ByteAlphabet {
  std::array<char32_t, 256> character{};
  std::array<int, 512> byte{};  // -1: not in the alphabet
};

ByteAlphabet make_byte_alphabet() {
  ByteAlphabet alphabet;
  alphabet.byte.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) ||
                           (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const char32_t character = printable ? static_cast<char32_t>(byte) : next++;
    alphabet.character[static_cast<std::size_t>(byte)] = character;
    alphabet.byte[character] = byte;
  }
  return alphabet;
}

const ByteAlphabet& byte_alphabet() {
  static const ByteAlphabet alphabet = make_byte_alphabet();
  return alphabet;
}

}  // namespace

Utf8Character utf8_character(std::string_view text, std::size_t position) {
  const unsigned char first = byte_at(text, position);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {0, 1, false};
  auto code_point =
      static_cast<char32_t>(first & ((1u << (7 - lead.length)) - 1));
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (position + i >= text.size()) return {0, i, false};
    const unsigned char byte = byte_at(text, position + i);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {0, i, false};
    code_point = (code_point << 6) | (byte & 0x3Fu);
  }
  return {code_point, lead.length, true};
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = utf8_character(text, at);
    if (!character.valid) return false;
    at += character.length;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = utf8_character(text, at);
    if (character.valid) {
      result.append(text.substr(at, character.length));
    } else {
      append_utf8(result, 0xFFFD);
    }
    at += character.length;
  }
  return result;
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto value = static_cast<std::uint32_t>(code_point);
  const auto append = [&](std::uint32_t byte) {
    text.push_back(static_cast<char>(byte));
  };
  if (value < 0x80) {
    append(value);
  } else if (value < 0x800) {
    append(0xC0 | (value >> 6));
    append(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    append(0xE0 | (value >> 12));
    append(0x80 | ((value >> 6) & 0x3F));
    append(0x80 | (value & 0x3F));
  } else {
    append(0xF0 | (value >> 18));
    append(0x80 | ((value >> 12) & 0x3F));
    append(0x80 | ((value >> 6) & 0x3F));
    append(0x80 | (value & 0x3F));
  }
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  const ByteAlphabet& alphabet = byte_alphabet();
  std::string bytes;
  for (std::size_t at = 0; at < spelling.size();) {
    const Utf8Character character = utf8_character(spelling, at);
    if (!character.valid || character.code_point >= alphabet.byte.size() ||
        alphabet.byte[character.code_point] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(alphabet.byte[character.code_point]));
    at += character.length;
  }
  return bytes;
}

std::string spelling_of_byte(unsigned char byte) {
  std::string spelling;
  append_utf8(spelling, byte_alphabet().character[byte]);
  return spelling;
}

}  // namespace merak::data
