#include "merak/data/tokens/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/data/test_support.h"
#include "merak/data/tokenizer/byte_tokenizer.h"
#include "merak/data/tokens/encode_documents.h"

namespace merak::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

Strings read_all(const InputFile& input) {
  DocumentReader reader(input);
  Strings texts;
  for (Document document; reader.next(document);) {
    texts.emplace_back(document.text());
  }
  EXPECT_EQ(reader.bytes_read(), reader.bytes().size());
  return texts;
}

TEST(Documents, APlainFileIsOneDocument) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      read_all({folder.write("a.txt", "x\ny\n"), InputKind::kPlainText}),
      ElementsAre("x\ny\n"));
  EXPECT_TRUE(
      read_all({folder.write("b.txt", ""), InputKind::kPlainText}).empty());
}

TEST(Documents, ALineIsADocument) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "a.jsonl",
      "{\"text\": \"one\\n\", \"id\": 1}\r\n\n  \n{\"text\":\"\"}\n"
      "{\"text\": \"short\"}\n{\"text\": \"no line end \\u00e9\"}");
  EXPECT_THAT(read_all({path, InputKind::kJsonLines}),
              ElementsAre("one\n", "short", "no line end \u00e9"));
}

TEST(Documents, BadLinesAreNamed) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& line) {
    const auto path = folder.write("a.jsonl", "{\"text\": \"x\"}\n\n" + line);
    return error_of([&] { read_all({path, InputKind::kJsonLines}); });
  };
  EXPECT_THAT(message("{\"text\": \"x\""), HasSubstr("a.jsonl:3: not valid"));
  EXPECT_THAT(message("{\"body\": \"x\"}"), HasSubstr("a.jsonl:3: no field"));
  EXPECT_THAT(message("{\"text\": 5}"), HasSubstr("\"text\" is a number"));
  EXPECT_THAT(message("[\"text\"]"), HasSubstr("a.jsonl:3: no field"));
  EXPECT_THAT(message("{\"text\": \"\xFF\"}"), HasSubstr("a.jsonl:3: not"));
}

// More documents than a batch of text holds, and of very different sizes.
TEST(EncodeDocuments, ThreadsKeepTheOrder) {
  const TemporaryFolder folder;
  std::string lines;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 3000; ++i) {
    sizes.push_back(i % 100 == 0 ? 100'000 : 1 + i % 7);
    lines += R"({"text": ")" + std::string(sizes.back(), 'a') + "\"}\n";
  }
  const InputFile input{folder.write("a.jsonl", lines), InputKind::kJsonLines};
  DocumentReader reader(input);
  std::vector<std::size_t> seen;
  EncodeOptions options;
  options.threads = 3;
  std::uint64_t done = 0, tokens = 0;
  options.progress = [&](const EncodeProgress& progress) {
    EXPECT_GT(progress.bytes_done, done);
    EXPECT_EQ(progress.bytes_total, lines.size());
    done = progress.bytes_done;
    tokens = progress.tokens;
  };
  encode_documents(reader, input, ByteTokenizer(), options,
                   [&](auto document) { seen.push_back(document.size()); });
  EXPECT_EQ(seen, sizes);
  EXPECT_EQ(done, lines.size());
  EXPECT_GT(tokens, 3'000'000u);
}

class RefusingTokenizer : public ByteTokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view text) const override {
    if (text == "bad") fail_usage("cannot express it");
    return ByteTokenizer::encode(text);
  }
};

TEST(EncodeDocuments, TheTokenizersErrorsGetAPlace) {
  const TemporaryFolder folder;
  const InputFile input{
      folder.write("a.jsonl", "{\"text\":\"x\"}\n{\"text\":\"bad\"}\n"),
      InputKind::kJsonLines};
  DocumentReader reader(input);
  EXPECT_THAT(error_of([&] {
                encode_documents(reader, input, RefusingTokenizer(), {},
                                 [](auto) {});
              }),
              HasSubstr("a.jsonl:2: cannot express it"));
}

}  // namespace
}  // namespace merak::data
