// Text to token ids and back: the one interface behind which all tokenizers
// stand. The folders merak/data/* share the namespace merak::data.
//
// Objects are immutable after loading; every call may come from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace merak::data {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The tokens of a text, without the ones that a template puts around it
  // (Hugging Face: add_special_tokens=False). Special tokens that the text
  // spells out are recognised, as Hugging Face does. Usage error if the
  // vocabulary cannot express the text.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  // The bytes of the tokens. Not always valid UTF-8: a token may end inside a
  // character. An id that the tokenizer does not have (a model's padded
  // vocabulary) becomes U+FFFD.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;

  // One more than the largest id.
  virtual std::int32_t vocabulary_size() const = 0;

  // What stands between two documents; nothing for tokenizers without one.
  virtual std::optional<std::int32_t> end_of_text() const = 0;

  // What the template puts before a text, such as LLaMA's <|begin_of_text|>:
  // a prompt starts with it. Training documents do not get it.
  virtual std::span<const std::int32_t> prompt_prefix() const { return {}; }

  virtual std::string_view name() const = 0;  // "bytes", or the file's path

  // Changes whenever the same text could give other tokens; keys caches.
  virtual std::uint64_t fingerprint() const = 0;
};

}  // namespace merak::data
