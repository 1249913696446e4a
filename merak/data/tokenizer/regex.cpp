#include "merak/data/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "merak/base/error.h"
#include "merak/data/tokenizer/oniguruma.h"

namespace merak::data {
namespace {

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

void RegexMatcher::Free::operator()(pcre2_real_match_data_8* data) const {
  pcre2_match_data_free(data);
}

Regex::Regex(std::string_view pattern, Syntax syntax, const std::string& where)
    : where_(where) {
  const bool literal = syntax == Syntax::kLiteral;
  const std::string translated =
      literal ? std::string(pattern) : pcre2_from_oniguruma(pattern, where);
  // Ruby's ^ and $ always mean lines.
  const std::uint32_t options =
      PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(units(translated), translated.size(), options,
                            &error, &offset, nullptr));
  if (!code_) {
    fail_usage(
        "{}: the pattern \"{}\" does not compile: {} (at byte {} of "
        "\"{}\")",
        where, pattern, pcre2_message(error), offset, translated);
  }
  // Without JIT on this machine the interpreter gives the same matches.
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

RegexMatcher::RegexMatcher(const Regex& regex)
    : regex_(&regex), data_(pcre2_match_data_create(1, nullptr)) {
  MERAK_CHECK(data_ != nullptr, "no memory for match data");
}

std::optional<RegexMatcher::Match> RegexMatcher::find(std::string_view text,
                                                      std::size_t from) const {
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(regex_->code(), units(text), text.size(), from,
                       options | PCRE2_NO_UTF_CHECK, data_.get(), nullptr);
  };
  int result = match(0);
  // The interpreter keeps its state on the heap: no stack to run out of.
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) {
    fail_runtime("{}: matching failed at byte {}: {}", regex_->where(), from,
                 pcre2_message(result));
  }
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data_.get());
  return Match{range[0], range[1]};
}

}  // namespace merak::data
