#include "merak/data/tokenizer/bpe_tokenizer.h"

#include <array>
#include <utility>

#include "merak/base/error.h"
#include "merak/data/tokenizer/utf8.h"

namespace merak::data {
namespace {

// How the common model families spell it: GPT-2, LLaMA 3, LLaMA and T5,
// Gemma, DeepSeek.
constexpr std::array<const char*, 5> kEndOfTextNames = {
    "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>",
    "<｜end▁of▁sentence｜>"};

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr std::int32_t kMaxAddedId = 1 << 26;

}  // namespace

struct BpeTokenizer::Scratch {
  BpeModel::Scratch model;
  PreTokenizer::Scratch matchers;
};

BpeTokenizer::BpeTokenizer(BpeParts parts)
    : name_(parts.tables.source),
      model_(parts.tables),
      pre_tokenizer_(std::move(parts.stages)),
      added_tokens_(parts.added_tokens),
      token_bytes_(model_.token_bytes()),
      prompt_prefix_(std::move(parts.prompt_prefix)),
      fingerprint_(parts.fingerprint) {
  if (token_bytes_.empty() && parts.added_tokens.empty()) {
    fail_usage("{}: the vocabulary is empty", name_);
  }
  set_added_bytes(parts.added_tokens);
  for (const std::int32_t token : prompt_prefix_) {
    if (token < 0 || token >= vocabulary_size()) {
      fail_usage("{}: post_processor names token {}; the vocabulary has {}",
                 name_, token, vocabulary_size());
    }
  }
  set_end_of_text(parts);
}

BpeTokenizer::~BpeTokenizer() = default;

void BpeTokenizer::set_added_bytes(const std::vector<AddedToken>& added) {
  for (const AddedToken& token : added) {
    if (token.id < 0 || token.id > kMaxAddedId) {
      fail_usage("{}: added token \"{}\" has id {}; ids go from 0 to {}", name_,
                 token.content, token.id, kMaxAddedId);
    }
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= token_bytes_.size()) token_bytes_.resize(id + 1);
    token_bytes_[id] = token.content;
  }
}

std::optional<std::int32_t> BpeTokenizer::find_token(
    const BpeParts& parts, const std::string& content) const {
  for (const AddedToken& token : parts.added_tokens) {
    if (token.content == content) return token.id;
  }
  const auto found = parts.tables.vocabulary.find(content);
  if (found == parts.tables.vocabulary.end()) return std::nullopt;
  return found->second;
}

void BpeTokenizer::set_end_of_text(const BpeParts& parts) {
  if (parts.end_of_text) {
    end_of_text_ = find_token(parts, *parts.end_of_text);
    if (!end_of_text_) {
      fail_usage(
          "{}: the end-of-text token \"{}\" (eos_token of "
          "tokenizer_config.json) is not in the vocabulary",
          name_, *parts.end_of_text);
    }
    return;
  }
  for (const char* content : kEndOfTextNames) {
    end_of_text_ = find_token(parts, content);
    if (end_of_text_) return;
  }
}

std::unique_ptr<BpeTokenizer::Scratch> BpeTokenizer::take_scratch() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto scratch = std::move(idle_.back());
      idle_.pop_back();
      return scratch;
    }
  }
  auto scratch = std::make_unique<Scratch>();
  scratch->matchers = pre_tokenizer_.make_scratch();
  return scratch;
}

void BpeTokenizer::give_back(std::unique_ptr<Scratch> scratch) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scratch));
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  std::string replaced;
  if (!is_valid_utf8(text)) {
    replaced = replace_invalid_utf8(text);
    text = replaced;
  }
  std::vector<std::int32_t> tokens;
  auto scratch = take_scratch();
  const PreTokenizer::Sink encode_word = [&](std::string_view word) {
    model_.encode_word(word, scratch->model, tokens);
  };
  added_tokens_.split(text, [&](std::int32_t token, std::string_view part) {
    if (token >= 0) {
      tokens.push_back(token);
    } else {
      pre_tokenizer_.split(part, scratch->matchers, encode_word);
    }
  });
  give_back(std::move(scratch));  // an exception before just drops it
  return tokens;
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) {
    const auto id = static_cast<std::size_t>(token);
    if (token >= 0 && id < token_bytes_.size() && !token_bytes_[id].empty()) {
      text += token_bytes_[id];
    } else {
      text += kReplacement;
    }
  }
  return text;
}

std::int32_t BpeTokenizer::vocabulary_size() const {
  return static_cast<std::int32_t>(token_bytes_.size());
}

}  // namespace merak::data
