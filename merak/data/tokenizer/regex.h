// Unicode regular expressions over UTF-8, by PCRE2 with its compiler (JIT).
//
// Tokenizer files are written for Oniguruma in its Ruby syntax; a pattern is
// rewritten to mean the same to PCRE2, or refused (oniguruma.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace merak::data {

class Regex {
 public:
  enum class Syntax { kOniguruma, kLiteral };

  // `where` names the file and the field in errors. Usage error if the
  // pattern does not compile.
  Regex(std::string_view pattern, Syntax syntax, const std::string& where);

  const pcre2_real_code_8* code() const { return code_.get(); }
  const std::string& where() const { return where_; }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };

  std::string where_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

// One thread's scratch space for a Regex, which must outlive it.
class RegexMatcher {
 public:
  struct Match {
    std::size_t begin, end;  // bytes; equal for an empty match
  };

  explicit RegexMatcher(const Regex& regex);

  // The first match that begins at `from` or later. `text` must be valid
  // UTF-8, `from` the start of a character or the end. Runtime error if the
  // pattern backtracks beyond PCRE2's limits.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Free {
    void operator()(pcre2_real_match_data_8* data) const;
  };

  const Regex* regex_;
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
};

}  // namespace merak::data
