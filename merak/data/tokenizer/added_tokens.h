// Tokens that are found in the text itself, before it is cut into words:
// special ones such as <|endoftext|>, and those added to a vocabulary later.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace merak::data {

// One entry of "added_tokens" in tokenizer.json.
struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // searched after those that are not
};

class AddedTokens {
 public:
  // Called with a token, or with text (token -1) that holds none.
  using Sink = std::function<void(std::int32_t token, std::string_view text)>;

  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Of several tokens that match, the leftmost is taken, and of those at the
  // same place the longest. `text` is valid UTF-8; empty texts are left out.
  void split(std::string_view text, const Sink& sink) const;

 private:
  // Tokens by first byte, longest first.
  using Index = std::array<std::vector<AddedToken>, 256>;

  static void split_by(const Index& index, std::string_view text,
                       const Sink& sink);

  Index raw_;
  Index normalized_;
};

}  // namespace merak::data
