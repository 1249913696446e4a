#include "merak/data/tokenizer/pre_tokenizer.h"

#include <string>
#include <utility>

#include "merak/data/tokenizer/utf8.h"

namespace merak::data {
namespace {

// Joins the alternating segments of a piece as a behaviour demands. Segments
// are neighbours in memory, so joining two is taking the range of both.
class Joiner {
 public:
  Joiner(SplitBehavior behavior, const PreTokenizer::Sink& sink)
      : behavior_(behavior), sink_(sink) {}

  // An empty segment is an empty match: it keeps its neighbours apart.
  void add(std::string_view segment, bool is_match) {
    if (joins_pending(is_match)) {
      pending_ = {pending_.data(), pending_.size() + segment.size()};
    } else {
      flush();
      pending_ = segment;
    }
    has_pending_ = true;
    pending_is_match_ = is_match;
  }

  void flush() {
    const bool removed =
        behavior_ == SplitBehavior::kRemoved && pending_is_match_;
    if (!pending_.empty() && !removed) sink_(pending_);
    pending_ = {};
    has_pending_ = false;
  }

 private:
  bool joins_pending(bool is_match) const {
    if (!has_pending_) return false;
    switch (behavior_) {
      case SplitBehavior::kMergedWithPrevious:
        return is_match && !pending_is_match_;
      case SplitBehavior::kMergedWithNext:
        return !is_match && pending_is_match_;
      case SplitBehavior::kContiguous:
        return is_match == pending_is_match_;
      case SplitBehavior::kRemoved:
      case SplitBehavior::kIsolated:
        return false;
    }
    return false;
  }

  SplitBehavior behavior_;
  const PreTokenizer::Sink& sink_;
  std::string_view pending_;
  bool has_pending_ = false;
  bool pending_is_match_ = false;
};

void split_by_pattern(std::string_view piece, const SplitStage& stage,
                      const RegexMatcher& matcher,
                      const PreTokenizer::Sink& sink) {
  Joiner joiner(stage.behavior, sink);
  std::size_t done = 0;  // everything before is handed on
  std::size_t from = 0;
  bool matched = false;
  while (const auto match = matcher.find(piece, from)) {
    // An empty match right behind a match does not count (Oniguruma's rule).
    if (match->begin == match->end && matched && match->end == done) {
      if (done == piece.size()) break;
      from = done + utf8_character(piece, done).length;
      continue;
    }
    if (match->begin > done) {
      joiner.add(piece.substr(done, match->begin - done), stage.invert);
    }
    joiner.add(piece.substr(match->begin, match->end - match->begin),
               !stage.invert);
    done = from = match->end;
    matched = true;
  }
  if (done < piece.size()) joiner.add(piece.substr(done), stage.invert);
  joiner.flush();
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<SplitStage> stages)
    : stages_(std::move(stages)) {}

PreTokenizer::Scratch PreTokenizer::make_scratch() const {
  Scratch scratch(stages_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].pattern) scratch[i].emplace(*stages_[i].pattern);
  }
  return scratch;
}

void PreTokenizer::split(std::string_view text, const Scratch& scratch,
                         const Sink& sink) const {
  if (!text.empty()) run_stage(0, text, scratch, sink);
}

void PreTokenizer::run_stage(std::size_t index, std::string_view piece,
                             const Scratch& scratch, const Sink& sink) const {
  if (index == stages_.size()) {
    sink(piece);
    return;
  }
  const SplitStage& stage = stages_[index];
  std::string prefixed;
  if (stage.add_prefix_space && !piece.starts_with(' ')) {
    prefixed.append(" ").append(piece);
    piece = prefixed;
  }
  if (!stage.pattern) {
    run_stage(index + 1, piece, scratch, sink);
    return;
  }
  const bool last = index + 1 == stages_.size();
  const Sink next = [&](std::string_view part) {
    run_stage(index + 1, part, scratch, sink);
  };
  split_by_pattern(piece, stage, *scratch[index], last ? sink : next);
}

}  // namespace merak::data
