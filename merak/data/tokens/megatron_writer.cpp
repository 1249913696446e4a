#include "merak/data/tokens/megatron_writer.h"

#include <limits>
#include <string>

#include "merak/base/error.h"
#include "merak/data/tokens/megatron_format.h"

namespace merak::data {
namespace {

constexpr std::int64_t kU16Vocabulary = 65500;  // Megatron-LM's own limit

std::filesystem::path with_suffix(std::filesystem::path prefix,
                                  const char* suffix) {
  return prefix += suffix;
}

template <typename T>
void append_value(AtomicFile& file, T value) {
  file.append({reinterpret_cast<const char*>(&value), sizeof value});
}

std::uint8_t code_of(TokenType type) {
  for (const auto& [code, known] : kMegatronTypes) {
    if (known == type) return code;
  }
  MERAK_CHECK(false, "type {}", name_of(type));
}

}  // namespace

MegatronWriter::MegatronWriter(const std::filesystem::path& prefix,
                               std::int64_t vocabulary_size)
    : index_path_(with_suffix(prefix, ".idx")),
      data_path_(with_suffix(prefix, ".bin")),
      type_(vocabulary_size < kU16Vocabulary ? TokenType::kU16
                                             : TokenType::kI32),
      data_(data_path_) {}

void MegatronWriter::append(std::span<const std::int32_t> tokens) {
  const std::size_t width = size_of(type_);
  std::string bytes;
  bytes.reserve(tokens.size() * width);
  for (const std::int32_t token : tokens) {
    MERAK_CHECK(token >= 0 && (width == 4 || token < 65536), "token {}", token);
    bytes.append(reinterpret_cast<const char*>(&token), width);
  }
  data_.append(bytes);
  open_tokens_ += tokens.size();
}

void MegatronWriter::end_document() {
  if (open_tokens_ > std::numeric_limits<std::int32_t>::max()) {
    fail_usage("{}: document {} has {} tokens; Megatron's format allows {}",
               data_path_.string(), sizes_.size(), open_tokens_,
               std::numeric_limits<std::int32_t>::max());
  }
  sizes_.push_back(static_cast<std::int32_t>(open_tokens_));
  tokens_ += open_tokens_;
  open_tokens_ = 0;
}

void MegatronWriter::finish() {
  MERAK_CHECK(open_tokens_ == 0, "a document is still open");
  AtomicFile index(index_path_);
  index.append(kMegatronMagic);
  append_value(index, kMegatronVersion);
  append_value(index, code_of(type_));
  append_value(index, std::uint64_t{sizes_.size()});
  append_value(index, std::uint64_t{sizes_.size() + 1});
  for (const std::int32_t size : sizes_) append_value(index, size);
  std::int64_t pointer = 0;
  for (const std::int32_t size : sizes_) {
    append_value(index, pointer);
    pointer += size * static_cast<std::int64_t>(size_of(type_));
  }
  for (std::size_t i = 0; i <= sizes_.size(); ++i) {
    append_value(index, static_cast<std::int64_t>(i));
  }
  std::error_code ignored;  // there need not be an older one
  std::filesystem::remove(index_path_, ignored);
  data_.commit();
  index.commit();
}

}  // namespace merak::data
