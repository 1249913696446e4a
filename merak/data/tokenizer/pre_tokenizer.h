// Cuts text into the words that BPE works on: a chain of regular expression
// splits, each applied to the pieces of the one before.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "merak/data/tokenizer/regex.h"

namespace merak::data {

// The pattern of GPT-2, by Hugging Face's ByteLevel with use_regex.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|)"
    R"(\s+(?!\S)|\s+)";

// What becomes of a match between its neighbours. For "a-b" and "-":
enum class SplitBehavior {
  kRemoved,             // a, b
  kIsolated,            // a, -, b
  kMergedWithPrevious,  // a-, b
  kMergedWithNext,      // a, -b
  kContiguous,          // as isolated, but neighbouring matches stay together
};

struct SplitStage {
  // Puts a space before every piece that does not begin with one.
  bool add_prefix_space = false;
  std::optional<Regex> pattern;  // without one the piece stays whole
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // what lies between matches counts as the match
};

class PreTokenizer {
 public:
  // One thread's matchers, one a stage.
  using Scratch = std::vector<std::optional<RegexMatcher>>;
  using Sink = std::function<void(std::string_view)>;

  explicit PreTokenizer(std::vector<SplitStage> stages);

  Scratch make_scratch() const;

  // Calls `sink` with each non-empty word in order. `text` is valid UTF-8; the
  // view given to `sink` lives for that call.
  void split(std::string_view text, const Scratch& scratch,
             const Sink& sink) const;

 private:
  void run_stage(std::size_t index, std::string_view piece,
                 const Scratch& scratch, const Sink& sink) const;

  std::vector<SplitStage> stages_;
};

}  // namespace merak::data
