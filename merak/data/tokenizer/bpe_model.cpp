#include "merak/data/tokenizer/bpe_model.h"

#include <algorithm>

#include "merak/base/error.h"
#include "merak/data/tokenizer/utf8.h"

namespace merak::data {
namespace {

// Far above any real vocabulary; keeps a broken file from asking for tables
// of gigabytes.
constexpr std::int32_t kMaxTokenId = 1 << 26;

constexpr std::size_t kMaxCachedWords = 1 << 16;
constexpr std::size_t kMaxCachedWordLength = 128;

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

}  // namespace

BpeModel::BpeModel(const BpeTables& tables)
    : source_(tables.source), fuse_unknown_(tables.fuse_unknown) {
  byte_tokens_.fill(-1);
  for (const auto& [spelling, id] : tables.vocabulary) {
    if (id < 0 || id > kMaxTokenId) {
      fail_usage("{}: token \"{}\" has id {}; ids go from 0 to {}", source_,
                 spelling, id, kMaxTokenId);
    }
    const auto index = static_cast<std::size_t>(id);
    if (index >= token_bytes_.size()) token_bytes_.resize(index + 1);
    const auto bytes = bytes_of_spelling(spelling);
    if (bytes && bytes->size() == 1) {
      byte_tokens_[static_cast<unsigned char>(bytes->front())] = id;
    }
    if (bytes && tables.ignore_merges) words_.emplace(*bytes, id);
    token_bytes_[index] = bytes.value_or(spelling);
  }
  if (tables.unknown_token) {
    const auto found = tables.vocabulary.find(*tables.unknown_token);
    if (found != tables.vocabulary.end()) unknown_ = found->second;
  }
  add_merges(tables);
}

void BpeModel::add_merges(const BpeTables& tables) {
  const auto id_of = [&](const std::string& token, std::size_t rank) {
    const auto found = tables.vocabulary.find(token);
    if (found == tables.vocabulary.end()) {
      fail_usage(
          "{}: merge {} (\"{} {}\") needs the token \"{}\", which the "
          "vocabulary lacks",
          source_, rank, tables.merges[rank].first, tables.merges[rank].second,
          token);
    }
    return found->second;
  };
  merges_.reserve(tables.merges.size());
  for (std::size_t rank = 0; rank < tables.merges.size(); ++rank) {
    const auto& [left, right] = tables.merges[rank];
    const std::int32_t left_id = id_of(left, rank);
    const std::int32_t right_id = id_of(right, rank);
    // Of two equal lines the later counts, as in Hugging Face's reader.
    merges_[pair_key(left_id, right_id)] = {static_cast<std::uint32_t>(rank),
                                            id_of(left + right, rank)};
  }
}

void BpeModel::encode_word(std::string_view word, Scratch& scratch,
                           std::vector<std::int32_t>& tokens) const {
  if (const auto hit = scratch.cache_.find(word); hit != scratch.cache_.end()) {
    const auto begin = scratch.cached_tokens_.begin() + hit->second.begin;
    tokens.insert(tokens.end(), begin, begin + hit->second.count);
    return;
  }
  const std::size_t before = tokens.size();
  merge_word(word, scratch, tokens);
  if (word.size() <= kMaxCachedWordLength &&
      scratch.cache_.size() < kMaxCachedWords) {
    auto& cached = scratch.cached_tokens_;
    scratch.cache_.emplace(
        word,
        Scratch::Range{static_cast<std::uint32_t>(cached.size()),
                       static_cast<std::uint32_t>(tokens.size() - before)});
    cached.insert(cached.end(),
                  tokens.begin() + static_cast<std::ptrdiff_t>(before),
                  tokens.end());
  }
}

void BpeModel::merge_word(std::string_view word, Scratch& scratch,
                          std::vector<std::int32_t>& tokens) const {
  if (!words_.empty()) {
    const auto whole = words_.find(std::string(word));
    if (whole != words_.end()) {
      tokens.push_back(whole->second);
      return;
    }
  }
  start_symbols(word, scratch);
  run_merges(scratch);
  for (const auto& symbol : scratch.symbols_) {
    if (symbol.token >= 0) tokens.push_back(symbol.token);
  }
}

void BpeModel::run_merges(Scratch& scratch) const {
  auto& symbols = scratch.symbols_;
  auto& queue = scratch.queue_;
  queue.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    push_merge(i, i + 1, scratch);
  }
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end());
    const Scratch::Candidate candidate = queue.back();
    queue.pop_back();
    auto& left = symbols[candidate.left];
    if (left.token != candidate.left_token || left.next == Scratch::kNone ||
        symbols[left.next].token != candidate.right_token) {
      continue;
    }
    auto& right = symbols[left.next];
    left.token = candidate.result;
    left.next = right.next;
    right.token = -1;
    if (left.next != Scratch::kNone) {
      symbols[left.next].previous = candidate.left;
      push_merge(candidate.left, left.next, scratch);
    }
    if (left.previous != Scratch::kNone) {
      push_merge(left.previous, candidate.left, scratch);
    }
  }
}

void BpeModel::start_symbols(std::string_view word, Scratch& scratch) const {
  auto& symbols = scratch.symbols_;
  symbols.clear();
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    std::int32_t token = byte_tokens_[byte];
    if (token < 0) {
      if (unknown_ < 0) {
        fail_usage(
            "{}: the vocabulary has no token for the byte 0x{:02X} and "
            "no unk_token, so it cannot express \"{}\"",
            source_, byte, word.substr(0, 40));
      }
      token = unknown_;
      const bool fused =
          fuse_unknown_ && !symbols.empty() && symbols.back().token == token;
      if (fused) continue;
    }
    const std::size_t index = symbols.size();
    symbols.push_back({token, index - 1, index + 1});
  }
  if (!symbols.empty()) symbols.back().next = Scratch::kNone;
}

void BpeModel::push_merge(std::size_t left, std::size_t right,
                          Scratch& scratch) const {
  const std::int32_t left_token = scratch.symbols_[left].token;
  const std::int32_t right_token = scratch.symbols_[right].token;
  const auto merge = merges_.find(pair_key(left_token, right_token));
  if (merge == merges_.end()) return;
  scratch.queue_.push_back({merge->second.rank, left_token, right_token,
                            merge->second.result, left});
  std::push_heap(scratch.queue_.begin(), scratch.queue_.end());
}

}  // namespace merak::data
