#include "merak/data/tokenizer/oniguruma.h"

#include <cctype>
#include <cstddef>

#include "merak/base/error.h"

namespace merak::data {
namespace {

constexpr std::string_view kSpace =
    R"(\x09-\x0D\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029})"
    R"(\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kHex = "0-9a-fA-F";

// The content of the class that a lower or upper case shorthand stands for.
std::string_view shorthand(char letter) {
  switch (std::tolower(static_cast<unsigned char>(letter))) {
    case 's':
      return kSpace;
    case 'w':
      return kWord;
    case 'h':
      return kHex;
    default:
      return {};
  }
}

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        inside_class(c);
      } else {
        outside_class(c);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    fail_usage(
        "{}: the pattern \"{}\" uses {} at byte {}, which is not "
        "supported",
        where_, pattern_, what, at_);
  }

  bool starts_with(std::string_view text) const {
    return pattern_.substr(at_).starts_with(text);
  }

  // Clamped: a bracket that is never closed is PCRE2's to report.
  void copy(std::size_t count) {
    const std::string_view part = pattern_.substr(at_, count);
    result_ += part;
    at_ += part.size();
  }

  void escape() {
    if (at_ + 1 == pattern_.size()) refuse("a lone backslash");
    const char letter = pattern_[at_ + 1];
    const std::string_view content = shorthand(letter);
    const bool upper = std::isupper(static_cast<unsigned char>(letter)) != 0;
    if (!content.empty()) {
      shorthand_class(letter, content, upper);
    } else if (letter == 'u') {
      code_point();
    } else if (!in_class_ && (letter == 'b' || letter == 'B')) {
      refuse("a word boundary");
    } else {
      copy(2);
      // \p{L}, \x{10FFFF}, \k{name}: the brace is no interval.
      if (std::string_view("pPxgko").find(letter) != std::string_view::npos &&
          starts_with("{")) {
        copy(pattern_.find('}', at_) - at_ + 1);
      }
    }
  }

  void shorthand_class(char letter, std::string_view content, bool upper) {
    if (!in_class_) {
      result_.append(upper ? "[^" : "[").append(content).append("]");
    } else if (!upper) {
      result_ += content;
    } else if (letter == 'S' || letter == 'W') {
      // With its lower case beside it the class is "anything", and then the
      // two dialects agree.
      const std::string_view pair = letter == 'S' ? R"(\s)" : R"(\w)";
      const std::size_t end = pattern_.find(']', at_);
      if (pattern_.substr(class_begin_, end - class_begin_).find(pair) ==
          std::string_view::npos) {
        refuse("a negated shorthand inside a class");
      }
      result_ += letter == 'S' ? R"(\s\S)" : R"(\w\W)";
    } else {
      refuse("\\H inside a class");
    }
    at_ += 2;
  }

  void code_point() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    for (const char digit : digits) {
      if (!std::isxdigit(static_cast<unsigned char>(digit))) {
        refuse("\\u without four digits");
      }
    }
    if (digits.size() < 4) refuse("\\u without four digits");
    result_.append("\\x{").append(digits).append("}");
    at_ += 6;
  }

  void inside_class(char c) {
    if (c == ']' && at_ > class_first_) {
      in_class_ = false;
    } else if (starts_with("[:")) {
      copy(pattern_.find(']', at_) - at_ + 1);
      return;
    } else if (c == '[') {
      refuse("a class inside a class");
    } else if (starts_with("&&")) {
      refuse("an intersection of classes");
    }
    copy(1);
  }

  void outside_class(char c) {
    if (c == '[') {
      in_class_ = true;
      class_begin_ = at_;
      copy(starts_with("[^") ? 2 : 1);
      class_first_ = at_;
    } else if (starts_with("(?")) {
      group_flags();
    } else if (c == '{') {
      interval();
    } else {
      copy(1);
    }
  }

  // (?m: lets the dot match line ends in Ruby, and means lines in PCRE2.
  void group_flags() {
    std::size_t end = at_ + 2;
    while (end < pattern_.size() &&
           std::string_view("imx-").find(pattern_[end]) !=
               std::string_view::npos) {
      if (pattern_[end] == 'm') refuse("the flag m");
      ++end;
    }
    copy(end - at_);
  }

  void interval() {
    const std::size_t end = pattern_.find('}', at_);
    const bool repeated =
        end != std::string_view::npos && pattern_.substr(end + 1, 1) == "+";
    if (!repeated) {
      copy(1);
      return;
    }
    const std::string_view counts = pattern_.substr(at_ + 1, end - at_ - 1);
    if (counts == "1" || counts.starts_with("1,")) {
      result_ += '+';
    } else if (counts.starts_with("0,") || counts.starts_with(",")) {
      result_ += '*';
    } else {
      refuse("a repeated interval");
    }
    at_ = end + 2;
  }

  std::string_view pattern_;
  const std::string& where_;
  std::string result_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::size_t class_begin_ = 0;  // of the bracket
  std::size_t class_first_ = 0;  // where a ']' would be literal
};

}  // namespace

std::string pcre2_from_oniguruma(std::string_view pattern,
                                 const std::string& where) {
  return Translator(pattern, where).run();
}

}  // namespace merak::data
