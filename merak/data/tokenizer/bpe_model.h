// Byte pair encoding (Sennrich et al. 2016, arXiv:1508.07909) over bytes, as
// GPT-2 introduced it: a word starts as single bytes, and the pair whose merge
// was learnt first is merged, leftmost first, until no pair has a merge.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace merak::data {

// What the files hold, in the spelling of the files (utf8.h).
struct BpeTables {
  std::string source;  // the file, for errors
  std::unordered_map<std::string, std::int32_t> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  std::optional<std::string> unknown_token;  // for bytes without a token; of
                                             // no use if it is no token itself
  bool fuse_unknown = false;   // one unknown token for neighbouring bytes
  bool ignore_merges = false;  // a word that is a token needs no merges
};

class BpeModel {
 public:
  // One thread's buffers and the words it has met. Words are remembered up to
  // a fixed number, so memory is bounded.
  class Scratch;

  // Usage errors that name the file: a merge of tokens that the vocabulary
  // lacks, an id out of range.
  explicit BpeModel(const BpeTables& tables);

  // Appends the tokens of a word given as raw bytes. O(n log n) in its length.
  // Usage error if a byte has no token and there is no unknown token.
  void encode_word(std::string_view word, Scratch& scratch,
                   std::vector<std::int32_t>& tokens) const;

  // Raw bytes of every token by id; empty where there is none.
  const std::vector<std::string>& token_bytes() const { return token_bytes_; }

 private:
  struct Merge {
    std::uint32_t rank;
    std::int32_t result;
  };

  void add_merges(const BpeTables& tables);
  void merge_word(std::string_view word, Scratch& scratch,
                  std::vector<std::int32_t>& tokens) const;
  void start_symbols(std::string_view word, Scratch& scratch) const;
  void run_merges(Scratch& scratch) const;
  void push_merge(std::size_t left, std::size_t right, Scratch& scratch) const;

  std::string source_;
  std::vector<std::string> token_bytes_;
  std::array<std::int32_t, 256> byte_tokens_{};          // -1: none
  std::unordered_map<std::uint64_t, Merge> merges_;      // by pair of ids
  std::unordered_map<std::string, std::int32_t> words_;  // if ignore_merges
  std::int32_t unknown_ = -1;
  bool fuse_unknown_ = false;
};

class BpeModel::Scratch {
 private:
  friend class BpeModel;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // A doubly linked list in an array; a symbol merged into its left
  // neighbour has token -1.
  struct Symbol {
    std::int32_t token;
    std::size_t previous, next;
  };

  // A merge that was possible when it was queued; stale if the two symbols
  // have changed since.
  struct Candidate {
    std::uint32_t rank;
    std::int32_t left_token, right_token, result;
    std::size_t left;

    bool operator<(const Candidate& other) const {  // for a min-heap
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  struct Range {
    std::uint32_t begin, count;
  };

  std::vector<Symbol> symbols_;
  std::vector<Candidate> queue_;
  std::unordered_map<std::string, Range, Hash, std::equal_to<>> cache_;
  std::vector<std::int32_t> cached_tokens_;
};

}  // namespace merak::data
