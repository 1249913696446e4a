#include "merak/data/tokens/token_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/data/test_support.h"
#include "merak/data/tokenizer/byte_tokenizer.h"
#include "merak/data/tokens/megatron_writer.h"

namespace merak::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int64_t>;

class EndingTokenizer : public ByteTokenizer {
 public:
  std::optional<std::int32_t> end_of_text() const override { return 256; }
  std::int32_t vocabulary_size() const override { return 257; }
};

Tokens all(const TokenStream& stream) {
  Tokens tokens(stream.size());
  stream.read(0, tokens);
  return tokens;
}

class TokenStreamTest : public ::testing::Test {
 protected:
  TokenStream open(std::vector<std::string> names, const Tokenizer* tokenizer,
                   std::int64_t vocabulary = 0) const {
    for (std::string& name : names) name = (folder_.path() / name).string();
    StreamOptions options;
    options.vocabulary_size = vocabulary;
    return open_token_stream(names, tokenizer, options);
  }
  void write_u16(const std::string& name,
                 const std::vector<std::uint16_t>& tokens) const {
    folder_.write(name, {reinterpret_cast<const char*>(tokens.data()),
                         tokens.size() * 2});
  }

  TemporaryFolder folder_;
  EndingTokenizer ending_;
  ByteTokenizer bytes_;
};

TEST_F(TokenStreamTest, DocumentsAreJoinedWithTheEndOfTextToken) {
  folder_.write("a.txt", "ab");
  folder_.write("b.txt", "");
  folder_.write("c.jsonl", "{\"text\":\"c\"}\n{\"text\":\"d\"}\n");
  EXPECT_THAT(all(open({"*"}, &ending_)),
              ElementsAre('a', 'b', 256, 'c', 256, 'd'));
  EXPECT_THAT(all(open({"*"}, &bytes_)), ElementsAre('a', 'b', 'c', 'd'));
}

TEST_F(TokenStreamTest, TokenFilesAreTakenAsTheyAre) {
  write_u16("a.u16", {1, 2});
  write_u16("b.u16", {3, 256});
  folder_.write("c.u32", std::string_view("\4\0\0\0", 4));
  MegatronWriter writer(folder_.path() / "d", 300);
  for (const int token : {5, 6}) {
    writer.append(std::vector<std::int32_t>{token});
    writer.end_document();
  }
  writer.finish();
  EXPECT_THAT(all(open({"*"}, nullptr)), ElementsAre(1, 2, 3, 256, 4, 5, 6));
  EXPECT_THAT(all(open({"*"}, &ending_)),
              ElementsAre(1, 2, 256, 3, 256, 4, 256, 5, 6));
}

TEST_F(TokenStreamTest, EveryRangeReadsTheSame) {
  write_u16("a.u16", {1, 2, 3});
  write_u16("b.u16", {4});
  write_u16("c.u16", {5, 6});
  const TokenStream stream = open({"*"}, nullptr);
  const Tokens whole = all(stream);
  ASSERT_THAT(whole, ElementsAre(1, 2, 3, 4, 5, 6));
  for (std::size_t first = 0; first <= 6; ++first) {
    for (std::size_t count = 0; first + count <= 6; ++count) {
      Tokens part(count);
      stream.read(first, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(),
                             whole.begin() + static_cast<long>(first)));
    }
  }
  Tokens beyond(2);
  error_of([&] { stream.read(5, beyond); }, ErrorKind::kInternal);
}

TEST_F(TokenStreamTest, ForeignTokensAreRefusedWithTheirPlace) {
  write_u16("a.u16", {1, 2});
  write_u16("b.u16", {3, 99, 100});
  open({"*"}, nullptr, 101);
  EXPECT_THAT(error_of([&] { open({"*"}, nullptr, 100); }),
              AllOf(HasSubstr("b.u16: token 100 at position 2"),
                    HasSubstr("vocabulary of 100")));
  folder_.write("t.txt", "a\xFF");
  EXPECT_THAT(error_of([&] { open({"t.txt"}, &bytes_, 255); }),
              HasSubstr("t.txt: token 255 at position 1"));
}

TEST_F(TokenStreamTest, PositionsCountInTheFileAcrossRuns) {
  const std::vector<std::int16_t> tokens = {1, 2, 3, -4};
  const char* data = reinterpret_cast<const char*>(tokens.data());
  const std::vector<TokenArray> runs = {{TokenType::kI16, data, 1},
                                        {TokenType::kI16, data + 2, 3}};
  TokenStream stream;
  stream.append_token(9);
  stream.append_file("x.bin", nullptr, runs);
  Tokens out(5);
  EXPECT_THAT(error_of([&] { stream.read(0, out); }),
              HasSubstr("x.bin: token -4 at position 3 is negative"));
}

TEST_F(TokenStreamTest, TextNeedsATokenizerAndFlatFilesWholeTokens) {
  folder_.write("a.txt", "x");
  EXPECT_THAT(error_of([&] { open({"a.txt"}, nullptr); }),
              HasSubstr("data.tokenizer is not set"));
  folder_.write("a.u16", "xyz");
  EXPECT_THAT(error_of([&] { open({"a.u16"}, nullptr); }),
              HasSubstr("3 bytes are not a whole number of u16"));
}

}  // namespace
}  // namespace merak::data
