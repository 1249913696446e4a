// UTF-8 as Python and Rust read it, and GPT-2's printable stand-ins for bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace merak::data {

struct Utf8Character {
  char32_t code_point = 0;
  std::size_t length = 0;  // bytes; of the ill-formed part if not valid
  bool valid = false;
};

// The character at `position`, which must lie inside the text. Overlong forms,
// surrogates and values above U+10FFFF are not valid; an ill-formed part is
// the longest start of a valid sequence, at least one byte (Unicode 15, 3.9,
// "maximal subpart").
Utf8Character utf8_character(std::string_view text, std::size_t position);

bool is_valid_utf8(std::string_view text);

// Every ill-formed part becomes one U+FFFD, as bytes.decode(errors="replace")
// in Python.
std::string replace_invalid_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t code_point);

bool is_white_space(char32_t code_point);  // Unicode's White_Space

// Byte-level vocabularies write each byte as one printable character: itself
// for printable Latin-1, else the next free one from U+0100 on (space is
// U+0120). Returns the bytes behind such a spelling, or nothing if it has
// other characters or is not UTF-8.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);
std::string spelling_of_byte(unsigned char byte);

}  // namespace merak::data
