#include "merak/data/tokenizer/added_tokens.h"

#include <algorithm>

#include "merak/data/tokenizer/regex.h"
#include "merak/data/tokenizer/utf8.h"

namespace merak::data {
namespace {

// The start of the last character before `position`.
std::size_t previous_character(std::string_view text, std::size_t position) {
  do {
    --position;
  } while ((static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
  return position;
}

bool is_word_character(std::string_view text, std::size_t position) {
  static const Regex word(R"(\w)", Regex::Syntax::kOniguruma, "word character");
  const std::size_t length = utf8_character(text, position).length;
  return RegexMatcher(word).find(text.substr(position, length), 0).has_value();
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool word_before =
      begin > 0 && is_word_character(text, previous_character(text, begin));
  const bool word_after = end < text.size() && is_word_character(text, end);
  return !word_before && !word_after;
}

std::size_t strip_left(std::string_view text, std::size_t begin,
                       std::size_t limit) {
  while (begin > limit) {
    const std::size_t before = previous_character(text, begin);
    if (!is_white_space(utf8_character(text, before).code_point)) break;
    begin = before;
  }
  return begin;
}

std::size_t strip_right(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Utf8Character character = utf8_character(text, end);
    if (!is_white_space(character.code_point)) break;
    end += character.length;
  }
  return end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const AddedToken& a, const AddedToken& b) {
                     return a.content.size() > b.content.size();
                   });
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    Index& index = token.normalized ? normalized_ : raw_;
    index[static_cast<unsigned char>(token.content[0])].push_back(
        std::move(token));
  }
}

void AddedTokens::split(std::string_view text, const Sink& sink) const {
  split_by(raw_, text, [&](std::int32_t token, std::string_view part) {
    if (token >= 0) {
      sink(token, part);
    } else {
      split_by(normalized_, part, sink);
    }
  });
}

void AddedTokens::split_by(const Index& index, std::string_view text,
                           const Sink& sink) {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto& candidates = index[static_cast<unsigned char>(text[at])];
    const auto found = std::find_if(
        candidates.begin(), candidates.end(), [&](const AddedToken& token) {
          return text.substr(at, token.content.size()) == token.content;
        });
    if (found == candidates.end()) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at += found->content.size();
    if (found->single_word && !stands_alone(text, begin, end)) continue;
    if (found->lstrip) begin = strip_left(text, begin, done);
    if (found->rstrip) end = strip_right(text, end);
    if (begin > done) sink(-1, text.substr(done, begin - done));
    sink(found->id, text.substr(begin, end - begin));
    // White space that is stripped is used up, tokens made of it too.
    done = at = std::max(at, end);
  }
  if (done < text.size()) sink(-1, text.substr(done));
}

}  // namespace merak::data
