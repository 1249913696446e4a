// The words of the graph text (text.h); for the parser.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace merak::graph {

// Characters of names that need no quotes: of values behind %, of operators.
bool is_value_char(char c);
bool is_op_char(char c);

enum class TokenKind {
  kPunctuation,  // one of { } [ ] ( ) , : = @
  kValue,        // text: the name behind %
  kString,       // text: without quotes and escapes
  kNumber,       // text: as written
  kWord,         // text: operator, type, keyword
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::size_t line = 1;    // both from 1
  std::size_t column = 1;  // in bytes
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next word; kEnd for ever once the text is used up. Usage error on a
  // character that starts none, a string that does not end, a bad escape.
  Token next();

 private:
  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return text_[position_]; }
  char take();
  void skip_space();
  std::string take_string();
  std::string take_number();
  std::string take_while(bool (*accept)(char));
  [[noreturn]] void fail(std::string_view message) const;

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  std::size_t column_ = 1;
};

}  // namespace merak::graph
