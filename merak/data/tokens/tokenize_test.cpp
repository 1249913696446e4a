#include "merak/data/tokens/tokenize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/base/file.h"
#include "merak/data/test_support.h"
#include "merak/data/tokenizer/load_tokenizer.h"
#include "merak/data/tokens/token_stream.h"

namespace merak::data {
namespace {

using ::testing::HasSubstr;
using Strings = std::vector<std::string>;
using namespace std::string_literals;

std::vector<std::int64_t> read_stream(const Strings& patterns,
                                      const Tokenizer* tokenizer) {
  const TokenStream stream = open_token_stream(patterns, tokenizer, {});
  std::vector<std::int64_t> tokens(stream.size());
  stream.read(0, tokens);
  return tokens;
}

class TokenizeTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  TemporaryFolder folder_;
};

// The promise of the header, with a real tokenizer.
TEST_F(TokenizeTest, TrainingOnTheResultIsTrainingOnTheText) {
  const auto tokenizer =
      load_tokenizer("merak/data/tokenizer/testdata/small_bpe.json");
  folder_.write("a.txt", "It is a truth\n\nuniversally acknowledged");
  folder_.write("b.txt", "");
  folder_.write("c.jsonl", "{\"text\":\"one\"}\n{\"text\":\"<|endoftext|>\"}");
  folder_.write("d.txt", "the end<|endoftext|>");
  folder_.write("e.txt", " really");
  const Strings patterns = {at("*.txt"), at("c.jsonl")};
  const auto result = tokenize(patterns, *tokenizer, at("new/out"));
  const auto from_text = read_stream(patterns, tokenizer.get());
  const Strings written = {at("new/out.bin")};
  EXPECT_EQ(read_stream(written, nullptr), from_text);
  EXPECT_EQ(read_stream(written, tokenizer.get()), from_text);
  EXPECT_EQ(result.tokens, from_text.size());
  EXPECT_EQ(result.files, 5u);
  EXPECT_EQ(result.documents, 5u);
  EXPECT_EQ(result.token_type, "u16");
}

TEST_F(TokenizeTest, AFailureLeavesTheOldFiles) {
  const auto tokenizer = load_tokenizer("bytes");
  const Strings good = {folder_.write("a.txt", "abc")};
  tokenize(good, *tokenizer, at("out"));
  const std::string index = read_file(at("out.idx"));
  const Strings bad = {good[0], folder_.write("b.jsonl", "{")};
  EXPECT_THAT(error_of([&] { tokenize(bad, *tokenizer, at("out")); }),
              HasSubstr("b.jsonl:1"));
  EXPECT_EQ(read_file(at("out.bin")), "a\0b\0c\0"s);
  EXPECT_EQ(read_file(at("out.idx")), index);
  const auto files =
      std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  EXPECT_EQ(files, 4);
}

TEST_F(TokenizeTest, RefusesTokensAndNothing) {
  const auto tokenizer = load_tokenizer("bytes");
  const Strings tokens = {folder_.write("a.u16", "ab")};
  EXPECT_THAT(error_of([&] { tokenize(tokens, *tokenizer, at("out")); }),
              HasSubstr("a.u16 holds tokens already"));
  const Strings empty = {folder_.write("a.txt", "")};
  EXPECT_THAT(error_of([&] { tokenize(empty, *tokenizer, at("out")); }),
              HasSubstr("hold no text"));
}

}  // namespace
}  // namespace merak::data
