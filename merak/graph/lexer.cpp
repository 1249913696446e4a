#include "merak/graph/lexer.h"

#include "merak/base/error.h"

namespace merak::graph {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool is_op_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_value_char(char c) { return is_op_char(c) || c == '/' || c == '-'; }

void Lexer::fail(std::string_view message) const {
  fail_usage("graph text, line {}, column {}: {}", line_, column_, message);
}

char Lexer::take() {
  const char c = text_[position_++];
  if (c == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  return c;
}

void Lexer::skip_space() {
  while (!at_end()) {
    if (peek() == '#') {
      while (!at_end() && peek() != '\n') take();
    } else if (std::string_view(" \t\r\n").find(peek()) !=
               std::string_view::npos) {
      take();
    } else {
      return;
    }
  }
}

std::string Lexer::take_while(bool (*accept)(char)) {
  std::string out;
  while (!at_end() && accept(peek())) out += take();
  return out;
}

std::string Lexer::take_string() {
  take();  // the opening quote
  std::string out;
  while (true) {
    if (at_end() || peek() == '\n') fail("this string does not end");
    char c = take();
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at_end()) fail("this string does not end");
    c = take();
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'x' && text_.size() - position_ >= 2 &&
               hex_digit(text_[position_]) >= 0 &&
               hex_digit(text_[position_ + 1]) >= 0) {
      const int high = hex_digit(take());
      out += static_cast<char>(high * 16 + hex_digit(take()));
    } else {
      fail(R"(no such escape; there are \n, \t, \", \\ and \xHH)");
    }
  }
}

std::string Lexer::take_number() {
  std::string out(1, take());
  while (!at_end() &&
         (is_op_char(peek()) || ((peek() == '-' || peek() == '+') &&
                                 (out.back() == 'e' || out.back() == 'E')))) {
    out += take();
  }
  return out;
}

Token Lexer::next() {
  skip_space();
  Token token{TokenKind::kEnd, {}, line_, column_};
  if (at_end()) return token;
  const char c = peek();
  if (c == '%') {
    take();
    token.kind = TokenKind::kValue;
    token.text =
        !at_end() && peek() == '"' ? take_string() : take_while(is_value_char);
    if (token.text.empty()) fail("a name must follow '%'");
  } else if (c == '"') {
    token.kind = TokenKind::kString;
    token.text = take_string();
  } else if (is_digit(c) || c == '-') {
    token.kind = TokenKind::kNumber;
    token.text = take_number();
  } else if (is_letter(c)) {
    token.kind = TokenKind::kWord;
    token.text = take_while(is_op_char);
  } else if (std::string_view("{}[](),:=@").find(c) != std::string_view::npos) {
    token.kind = TokenKind::kPunctuation;
    token.text = take();
  } else {
    fail(fmt::format("'{}' starts nothing here", c));
  }
  return token;
}

}  // namespace merak::graph
