#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "merak/base/file.h"
#include "merak/data/test_support.h"
#include "merak/data/tokens/megatron_reader.h"
#include "merak/data/tokens/megatron_writer.h"

namespace merak::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int64_t>;

Tokens tokens_of(const MegatronDataset& dataset) {
  Tokens all;
  for (const TokenArray& run : dataset.runs) {
    Tokens part(run.count);
    widen(run, 0, part);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// The layout as numpy would write it, by hand.
template <typename T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Index {
  std::string magic{"MMIDIDX\0\0", 9};
  std::uint64_t version = 1;
  std::uint8_t code = 8;
  std::vector<std::int32_t> sizes;
  std::vector<std::int64_t> pointers;
  std::vector<std::int64_t> documents;

  std::string bytes() const {
    std::string result = magic;
    put(result, version);
    put(result, code);
    put(result, std::uint64_t{sizes.size()});
    put(result, std::uint64_t{documents.size()});
    for (auto size : sizes) put(result, size);
    for (auto pointer : pointers) put(result, pointer);
    for (auto document : documents) put(result, document);
    return result;
  }
};

// Three sequences in two documents: 1 2 | (none) | 3 4 5.
Index small_index() {
  Index index;
  index.sizes = {2, 0, 3};
  index.pointers = {0, 4, 4};
  index.documents = {0, 2, 3};
  return index;
}

class Megatron : public ::testing::Test {
 protected:
  MegatronDataset open(const std::string& index) const {
    return open_megatron(folder_.write("m.idx", index));
  }
  std::string refusal(const Index& index) const {
    const std::string bytes = index.bytes();
    const std::string message = error_of([&] { open(bytes); });
    EXPECT_THAT(message, HasSubstr("m.idx: not a sound Megatron index"));
    return message;
  }
  void write_data(const std::vector<std::uint16_t>& tokens) const {
    folder_.write("m.bin", {reinterpret_cast<const char*>(tokens.data()),
                            tokens.size() * 2});
  }

  TemporaryFolder folder_;
};

TEST_F(Megatron, ReadsTheUsualLayoutAsOneRun) {
  write_data({1, 2, 3, 4, 65535});
  const MegatronDataset dataset = open(small_index().bytes());
  EXPECT_THAT(tokens_of(dataset), ElementsAre(1, 2, 3, 4, 65535));
  EXPECT_EQ(dataset.runs.size(), 1u);
  EXPECT_EQ(dataset.sequences, 3u);
  EXPECT_EQ(dataset.documents, 2u);
  EXPECT_EQ(dataset.tokens, 5u);
}

TEST_F(Megatron, SequencesMayLieInAnyOrder) {
  write_data({1, 2, 3, 4, 5});
  Index index = small_index();
  index.pointers = {6, 0, 1};  // the last at an odd byte
  const MegatronDataset dataset = open(index.bytes());
  EXPECT_THAT(tokens_of(dataset), ElementsAre(4, 5, 512, 768, 1024));
  EXPECT_EQ(dataset.runs.size(), 2u);
}

TEST_F(Megatron, EveryTypeIsRead) {
  struct Case {
    std::uint8_t code;
    std::string bytes;
    std::int64_t expected;
  };
  for (const Case& c :
       {Case{1, "\xFF", 255}, Case{2, "\x7F", 127}, Case{3, "\x01\x02", 513},
        Case{8, "\xFE\xFF", 65534}, Case{4, "\x01\x02\x03\x04", 67305985},
        Case{5, std::string("\1\0\0\0\1\0\0\0", 8), 4294967297},
        Case{2, "\xFF", -1}}) {
    folder_.write("m.bin", c.bytes);
    Index index;
    index.code = c.code;
    index.sizes = {1};
    index.pointers = {0};
    index.documents = {0, 1};
    EXPECT_THAT(tokens_of(open(index.bytes())), ElementsAre(c.expected));
  }
}

TEST_F(Megatron, NothingIsBelievedUnchecked) {
  write_data({1, 2, 3, 4, 5});
  const auto refused = [&](auto&& change) {
    Index index = small_index();
    change(index);
    return refusal(index);
  };
  EXPECT_THAT(refused([](Index& i) { i.magic[0] = 'X'; }),
              HasSubstr("MMIDIDX"));
  EXPECT_THAT(refused([](Index& i) { i.version = 2; }), HasSubstr("version 2"));
  for (const int code : {0, 6, 7, 9, 255}) {
    EXPECT_THAT(
        refused([&](Index& i) { i.code = static_cast<std::uint8_t>(code); }),
        HasSubstr("type code"));
  }
  EXPECT_THAT(refused([](Index& i) { i.sizes[2] = 4; }),
              HasSubstr("sequence 2 has 4 tokens at byte 4"));
  EXPECT_THAT(refused([](Index& i) { i.sizes[0] = -1; }),
              HasSubstr("sequence 0"));
  EXPECT_THAT(refused([](Index& i) { i.pointers[2] = -2; }),
              HasSubstr("byte -2"));
  EXPECT_THAT(refused([](Index& i) { i.pointers[0] = 1ll << 62; }),
              HasSubstr("sequence 0"));
  EXPECT_THAT(refused([](Index& i) { i.documents = {0, 3, 2}; }),
              HasSubstr("document index 2 is 2"));
  EXPECT_THAT(refused([](Index& i) { i.documents = {1, 3}; }),
              HasSubstr("document index 0"));
  EXPECT_THAT(refused([](Index& i) { i.documents = {0, 2}; }),
              HasSubstr("end at sequence 2 of 3"));
  EXPECT_THAT(refused([](Index& i) { i.documents = {}; }),
              HasSubstr("documents end"));
  EXPECT_THAT(refused([](Index& i) { i.sizes.push_back(1); }),
              HasSubstr("do not make"));
}

// Modulo 2^64 the first of them gives the right size.
TEST_F(Megatron, HugeCountsDoNotOverflow) {
  write_data({1});
  for (const std::uint64_t count :
       {(std::uint64_t{1} << 62) + 3, ~std::uint64_t{0}, std::uint64_t{4}}) {
    for (const std::size_t offset : {18, 26}) {
      std::string bytes = small_index().bytes();
      std::memcpy(bytes.data() + offset, &count, sizeof count);
      EXPECT_THAT(error_of([&] { open(bytes); }), HasSubstr("do not make"));
    }
  }
}

TEST_F(Megatron, SurvivesTruncation) {
  write_data({1, 2, 3, 4, 5});
  const std::string whole = small_index().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(error_of([&] { open(whole.substr(0, size)); }),
                HasSubstr("m.idx"));
  }
  open(whole);
  write_data({1, 2, 3, 4});
  EXPECT_THAT(error_of([&] { open(whole); }), HasSubstr("8 bytes"));
  std::filesystem::remove(folder_.path() / "m.bin");
  EXPECT_THAT(error_of([&] { open(whole); }), HasSubstr("m.bin"));
}

// Byte for byte what Megatron-LM's IndexedDatasetBuilder writes.
TEST_F(Megatron, WritesTheDocumentedBytes) {
  const auto prefix = folder_.path() / "w";
  MegatronWriter writer(prefix, 50257);
  writer.append(std::vector<std::int32_t>{1, 2});
  writer.append(std::vector<std::int32_t>{50256});
  writer.end_document();
  writer.append(std::vector<std::int32_t>{7});
  writer.end_document();
  writer.finish();
  Index index;
  index.sizes = {3, 1};
  index.pointers = {0, 6};
  index.documents = {0, 1, 2};
  EXPECT_EQ(read_file(prefix.string() + ".idx"), index.bytes());
  EXPECT_EQ(read_file(prefix.string() + ".bin"),
            std::string("\1\0\2\0\x50\xC4\7\0", 8));
}

TEST_F(Megatron, LargeVocabulariesTakeFourBytes) {
  const auto prefix = folder_.path() / "w";
  MegatronWriter writer(prefix, 65500);
  writer.append(std::vector<std::int32_t>{65499, 100000});
  writer.end_document();
  writer.finish();
  const auto dataset = open_megatron(prefix.string() + ".idx");
  EXPECT_EQ(dataset.type, TokenType::kI32);
  EXPECT_THAT(tokens_of(dataset), ElementsAre(65499, 100000));
}

TEST_F(Megatron, AnUnfinishedWriterLeavesNothing) {
  {
    MegatronWriter writer(folder_.path() / "w", 10);
    writer.append(std::vector<std::int32_t>(1 << 20, 1));
    writer.end_document();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace merak::data
