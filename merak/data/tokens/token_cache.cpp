#include "merak/data/tokens/token_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/xxh64.h"
#include "merak/data/tokens/atomic_file.h"

namespace merak::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashBlock = 1 << 20;

struct Header {
  std::array<char, 8> magic = {'M', 'E', 'R', 'A', 'K', 'T', 'O', 'K'};
  std::uint32_t version = 1;
  std::uint32_t token_bytes = 2;
  std::uint64_t content = 0;    // of the text file, seeded by its kind
  std::uint64_t tokenizer = 0;  // its fingerprint
  std::uint64_t count = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 48, "docs/formats/token_files.md");

std::string_view bytes_of(const Header& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

// Chained over blocks, so that a writer need not keep the whole.
std::uint64_t checksum_of(std::string_view payload) {
  std::uint64_t hash = 0;
  for (; !payload.empty();
       payload.remove_prefix(std::min(kHashBlock, payload.size()))) {
    hash = xxh64(payload.substr(0, kHashBlock), hash);
  }
  return hash;
}

// Other processes of this machine that want the same cache wait here. A file
// system without locks is no harm: then each does the work, and the rename
// keeps the file whole.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0) ::flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

void encode_joined(DocumentReader& reader, const InputFile& input,
                   const Tokenizer& tokenizer, const EncodeOptions& options,
                   const DocumentSink& sink) {
  const auto end = tokenizer.end_of_text();
  bool first = true;
  encode_documents(reader, input, tokenizer, options,
                   [&](std::span<const std::int32_t> tokens) {
                     if (!first && end) sink({&*end, 1});
                     first = false;
                     sink(tokens);
                   });
}

// A sound cache that answers to `expected`, or nothing.
std::optional<TextTokens> open_cache(const fs::path& path,
                                     const Header& expected) {
  if (!path_is_file(path)) return std::nullopt;
  auto file = std::make_shared<const MappedFile>(path);
  const std::string_view bytes = file->bytes();
  if (bytes.size() < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view payload = bytes.substr(sizeof(Header));
  Header wanted = expected;
  wanted.count = payload.size() / expected.token_bytes;
  wanted.checksum = header.checksum;
  const bool sound = std::memcmp(&header, &wanted, sizeof header) == 0 &&
                     payload.size() % expected.token_bytes == 0 &&
                     checksum_of(payload) == header.checksum;
  if (!sound) return std::nullopt;
  const TokenType type =
      header.token_bytes == 2 ? TokenType::kU16 : TokenType::kU32;
  return TextTokens{file, {type, payload.data(), header.count}};
}

void write_cache(const fs::path& path, Header header, DocumentReader& reader,
                 const InputFile& input, const Tokenizer& tokenizer,
                 const EncodeOptions& options) {
  AtomicFile file(path);
  file.append(bytes_of(header));
  std::string block;
  const auto flush = [&] {
    header.checksum = xxh64(block, header.checksum);
    file.append(block);
    block.clear();
  };
  encode_joined(reader, input, tokenizer, options, [&](auto tokens) {
    header.count += tokens.size();
    for (const std::int32_t token : tokens) {
      block.append(reinterpret_cast<const char*>(&token), header.token_bytes);
      if (block.size() == kHashBlock) flush();
    }
  });
  if (!block.empty()) flush();
  file.overwrite(0, bytes_of(header));
  file.commit();
}

TextTokens in_memory(DocumentReader& reader, const InputFile& input,
                     const Tokenizer& tokenizer, const EncodeOptions& options) {
  auto tokens = std::make_shared<std::vector<std::int32_t>>();
  encode_joined(reader, input, tokenizer, options, [&](auto more) {
    tokens->insert(tokens->end(), more.begin(), more.end());
  });
  const char* data = reinterpret_cast<const char*>(tokens->data());
  return {tokens, {TokenType::kI32, data, tokens->size()}};
}

}  // namespace

TextTokens text_tokens(const InputFile& input, const Tokenizer& tokenizer,
                       const fs::path& cache_folder,
                       const EncodeOptions& options) {
  DocumentReader reader(input);
  if (cache_folder.empty()) return in_memory(reader, input, tokenizer, options);
  Header header;
  header.token_bytes = static_cast<std::uint32_t>(
      size_of(narrow_type(tokenizer.vocabulary_size())));
  header.content =
      xxh64(reader.bytes(), static_cast<std::uint64_t>(input.kind));
  header.tokenizer = tokenizer.fingerprint();
  make_folder(cache_folder);
  const fs::path path =
      cache_folder / fmt::format("{}-{:016x}-{:016x}.tokens",
                                 input.path.stem().string(), header.content,
                                 header.tokenizer);
  const FolderLock lock(cache_folder);
  if (auto cached = open_cache(path, header)) return *std::move(cached);
  write_cache(path, header, reader, input, tokenizer, options);
  auto written = open_cache(path, header);
  if (!written) fail_runtime("{} changed while it was written", path.string());
  return *std::move(written);
}

}  // namespace merak::data
