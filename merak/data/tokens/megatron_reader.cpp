#include "merak/data/tokens/megatron_reader.h"

#include <cstring>
#include <string>
#include <string_view>

#include "merak/base/error.h"
#include "merak/data/tokens/megatron_format.h"

namespace merak::data {
namespace {

class IndexReader {
 public:
  IndexReader(const std::filesystem::path& path, std::string_view bytes)
      : path_(path.string()), bytes_(bytes) {
    if (bytes_.size() < kMegatronHeaderBytes) {
      refuse(fmt::format("{} bytes are less than the header's {}",
                         bytes_.size(), kMegatronHeaderBytes));
    }
    if (!bytes_.starts_with(kMegatronMagic)) {
      refuse("it does not begin with MMIDIDX");
    }
    const auto version = load<std::uint64_t>(9);
    if (version != kMegatronVersion) {
      refuse(fmt::format("version {}; version 1 is supported", version));
    }
    sequences = load<std::uint64_t>(18);
    document_indices = load<std::uint64_t>(26);
    check_size();
  }

  TokenType type() const {
    const auto code = load<std::uint8_t>(17);
    for (const auto& [known, type] : kMegatronTypes) {
      if (known == code) return type;
    }
    refuse(fmt::format("type code {}; token types are 1 to 5 and 8", code));
  }

  std::int32_t size(std::uint64_t i) const {
    return load<std::int32_t>(kMegatronHeaderBytes + 4 * i);
  }
  std::int64_t pointer(std::uint64_t i) const {
    return load<std::int64_t>(kMegatronHeaderBytes + 4 * sequences + 8 * i);
  }
  std::int64_t document(std::uint64_t i) const {
    return load<std::int64_t>(kMegatronHeaderBytes + 12 * sequences + 8 * i);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail_usage("{}: not a sound Megatron index: {}", path_, what);
  }

  std::uint64_t sequences = 0;
  std::uint64_t document_indices = 0;

 private:
  template <typename T>
  T load(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  void check_size() const {
    const std::uint64_t rest = bytes_.size() - kMegatronHeaderBytes;
    // In this order nothing can overflow.
    const bool fits = sequences <= rest / 12 && document_indices <= rest / 8 &&
                      sequences * 12 + document_indices * 8 == rest;
    if (!fits) {
      refuse(
          fmt::format("{} sequences and {} document indices do not make "
                      "{} bytes",
                      sequences, document_indices, bytes_.size()));
    }
  }

  std::string path_;
  std::string_view bytes_;
};

// Document indices are the first sequences of the documents, and the end.
std::uint64_t count_documents(const IndexReader& index) {
  const std::uint64_t count = index.document_indices;
  std::int64_t last = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t first = index.document(i);
    if (first < last || (i == 0 && first != 0)) {
      index.refuse(fmt::format("document index {} is {}", i, first));
    }
    last = first;
  }
  if (count == 0 || static_cast<std::uint64_t>(last) != index.sequences) {
    index.refuse(fmt::format("documents end at sequence {} of {}", last,
                             index.sequences));
  }
  return count - 1;
}

void add_sequences(const IndexReader& index, MegatronDataset& dataset) {
  const std::string_view bytes = dataset.data->bytes();
  const std::uint64_t width = size_of(dataset.type);
  const char* next = nullptr;  // where a neighbour of the last run begins
  for (std::uint64_t i = 0; i < index.sequences; ++i) {
    const std::int32_t size = index.size(i);
    const std::int64_t pointer = index.pointer(i);
    const auto count = static_cast<std::uint64_t>(size);
    const auto offset = static_cast<std::uint64_t>(pointer);
    if (size < 0 || pointer < 0 || offset > bytes.size() ||
        count > (bytes.size() - offset) / width) {
      index.refuse(
          fmt::format("sequence {} has {} tokens at byte {}; the "
                      ".bin has {} bytes",
                      i, size, pointer, bytes.size()));
    }
    if (count == 0) continue;
    const char* begin = bytes.data() + offset;
    if (begin != next) dataset.runs.push_back({dataset.type, begin, 0});
    dataset.runs.back().count += count;
    dataset.tokens += count;
    next = begin + count * width;
  }
}

}  // namespace

MegatronDataset open_megatron(const std::filesystem::path& index_path) {
  const MappedFile index_file(index_path);
  const IndexReader index(index_path, index_file.bytes());
  std::filesystem::path data_path = index_path;
  data_path.replace_extension(".bin");
  MegatronDataset dataset;
  dataset.data = std::make_shared<const MappedFile>(data_path);
  dataset.type = index.type();
  dataset.sequences = index.sequences;
  dataset.documents = count_documents(index);
  add_sequences(index, dataset);
  return dataset;
}

}  // namespace merak::data
