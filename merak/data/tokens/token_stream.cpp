#include "merak/data/tokens/token_stream.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "merak/base/error.h"
#include "merak/base/mapped_file.h"
#include "merak/data/tokens/input_files.h"
#include "merak/data/tokens/megatron_reader.h"
#include "merak/data/tokens/token_cache.h"

namespace merak::data {
namespace {

constexpr std::size_t kScanBlock = 1 << 14;

void append_flat(TokenStream& stream, const InputFile& input, TokenType type) {
  const auto file = std::make_shared<const MappedFile>(input.path);
  const std::uint64_t bytes = file->bytes().size();
  if (bytes % size_of(type) != 0) {
    fail_usage("{}: {} bytes are not a whole number of {} tokens",
               input.path.string(), bytes, name_of(type));
  }
  const TokenArray array{type, file->bytes().data(), bytes / size_of(type)};
  stream.append_file(input.path.string(), file, {&array, 1});
}

void append_text(TokenStream& stream, const InputFile& input,
                 const Tokenizer* tokenizer, const StreamOptions& options) {
  if (tokenizer == nullptr) {
    fail_usage(
        "data.tokenizer is not set, but {} is text; set it to a "
        "tokenizer.json or \"bytes\"",
        input.path.string());
  }
  const TextTokens tokens =
      text_tokens(input, *tokenizer, options.cache_folder, options.encode);
  stream.append_file(input.path.string(), tokens.owner, {&tokens.array, 1});
}

void append_input(TokenStream& stream, const InputFile& input,
                  const Tokenizer* tokenizer, const StreamOptions& options) {
  switch (input.kind) {
    case InputKind::kPlainText:
    case InputKind::kJsonLines:
      return append_text(stream, input, tokenizer, options);
    case InputKind::kMegatron: {
      const MegatronDataset dataset = open_megatron(input.path);
      return stream.append_file(input.path.string(), dataset.data,
                                dataset.runs);
    }
    case InputKind::kFlatU16:
      return append_flat(stream, input, TokenType::kU16);
    case InputKind::kFlatU32:
      return append_flat(stream, input, TokenType::kU32);
  }
}

bool ends_with(const TokenStream& stream, std::int32_t token) {
  std::array<std::int64_t, 1> last{};
  stream.read(stream.size() - 1, last);
  return last[0] == token;
}

void scan(const TokenStream& stream) {
  std::vector<std::int64_t> block(kScanBlock);
  for (std::uint64_t at = 0; at < stream.size(); at += kScanBlock) {
    const std::uint64_t count =
        std::min<std::uint64_t>(kScanBlock, stream.size() - at);
    stream.read(at, std::span(block).first(count));
  }
}

}  // namespace

void TokenStream::append_file(const std::string& name,
                              std::shared_ptr<const void> owner,
                              std::span<const TokenArray> runs) {
  files_.push_back(name);
  owners_.push_back(std::move(owner));
  std::uint64_t position = 0;
  for (const TokenArray& run : runs) {
    if (run.count == 0) continue;
    segments_.push_back({size_, position, files_.size() - 1, run});
    size_ += run.count;
    position += run.count;
  }
}

void TokenStream::append_token(std::int32_t token) {
  auto owner = std::make_shared<const std::int32_t>(token);
  const TokenArray array{TokenType::kI32,
                         reinterpret_cast<const char*>(owner.get()), 1};
  append_file("the end-of-text token", owner, {&array, 1});
}

void TokenStream::append_stream(TokenStream other) {
  for (Segment segment : other.segments_) {
    segment.first += size_;
    segment.file += files_.size();
    segments_.push_back(segment);
  }
  size_ += other.size_;
  std::move(other.files_.begin(), other.files_.end(),
            std::back_inserter(files_));
  std::move(other.owners_.begin(), other.owners_.end(),
            std::back_inserter(owners_));
}

void TokenStream::read(std::uint64_t first, std::span<std::int64_t> out) const {
  MERAK_CHECK(first <= size_ && out.size() <= size_ - first,
              "tokens {} to {} of {}", first, first + out.size(), size_);
  auto segment = std::upper_bound(
      segments_.begin(), segments_.end(), first,
      [](std::uint64_t at, const Segment& s) { return at < s.first; });
  while (!out.empty()) {
    const Segment& current = *(segment - 1);
    const std::uint64_t offset = first - current.first;
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(out.size(), current.array.count - offset));
    widen(current.array, offset, out.first(count));
    check(current, offset, out.first(count));
    out = out.subspan(count);
    first += count;
    ++segment;
  }
}

void TokenStream::check(const Segment& segment, std::uint64_t offset,
                        std::span<const std::int64_t> tokens) const {
  const std::int64_t limit = vocabulary_size_ > 0
                                 ? vocabulary_size_
                                 : std::numeric_limits<std::int64_t>::max();
  // Without a branch a token: compilers make vector code of it.
  bool good = true;
  for (const std::int64_t token : tokens) good &= token >= 0 && token < limit;
  if (good) return;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < limit) continue;
    const std::uint64_t position = segment.position + offset + i;
    if (tokens[i] < 0) {
      fail_usage(
          "{}: token {} at position {} is negative; this is no file of "
          "token ids",
          files_[segment.file], tokens[i], position);
    }
    fail_usage(
        "{}: token {} at position {} is outside the model's vocabulary "
        "of {}; the data was made with another tokenizer, or "
        "vocab_size is too small",
        files_[segment.file], tokens[i], position, vocabulary_size_);
  }
}

TokenStream open_token_stream(std::span<const std::string> patterns,
                              const Tokenizer* tokenizer,
                              const StreamOptions& options) {
  TokenStream stream(options.vocabulary_size);
  constexpr std::int32_t kNone = -1;
  const std::int32_t end =
      tokenizer == nullptr ? kNone : tokenizer->end_of_text().value_or(kNone);
  bool separator_due = false;
  for (const InputFile& input : find_inputs(patterns, options.key)) {
    TokenStream file(options.vocabulary_size);
    append_input(file, input, tokenizer, options);
    if (file.size() == 0) continue;
    if (separator_due) stream.append_token(end);
    separator_due =
        end != kNone && (is_text(input.kind) || !ends_with(file, end));
    stream.append_stream(std::move(file));
  }
  if (stream.size() <= kScannedTokens) scan(stream);
  return stream;
}

}  // namespace merak::data
