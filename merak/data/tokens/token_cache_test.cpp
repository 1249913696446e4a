#include "merak/data/tokens/token_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "merak/base/file.h"
#include "merak/data/test_support.h"
#include "merak/data/tokenizer/byte_tokenizer.h"

namespace merak::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using Tokens = std::vector<std::int64_t>;

// Counts its calls; has an end-of-text token and a vocabulary of choice.
class CountingTokenizer : public ByteTokenizer {
 public:
  std::vector<std::int32_t> encode(std::string_view text) const override {
    ++calls;
    return ByteTokenizer::encode(text);
  }
  std::optional<std::int32_t> end_of_text() const override { return 256; }
  std::int32_t vocabulary_size() const override { return size; }
  std::uint64_t fingerprint() const override { return print; }

  mutable std::atomic<int> calls = 0;
  std::int32_t size = 257;
  std::uint64_t print = 1;
};

Tokens values(const TextTokens& tokens) {
  Tokens result(tokens.array.count);
  widen(tokens.array, 0, result);
  return result;
}

class TokenCache : public ::testing::Test {
 protected:
  Tokens read() {
    return values(
        text_tokens({text_, InputKind::kJsonLines}, tokenizer_, cache_, {}));
  }
  fs::path only_file() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(cache_)) {
      files.push_back(entry.path());
    }
    EXPECT_EQ(files.size(), 1u);
    return files.at(0);
  }

  TemporaryFolder folder_;
  fs::path cache_ = folder_.path() / "deep" / "cache";
  std::string text_ =
      folder_.write("a.jsonl", "{\"text\":\"ab\"}\n{\"text\":\"c\"}\n");
  CountingTokenizer tokenizer_;
  const Tokens expected_ = {97, 98, 256, 99};
};

TEST_F(TokenCache, IsMadeOnceAndAgreesWithMemory) {
  EXPECT_EQ(read(), expected_);
  EXPECT_EQ(read(), expected_);
  EXPECT_EQ(tokenizer_.calls, 2);
  EXPECT_EQ(
      values(text_tokens({text_, InputKind::kJsonLines}, tokenizer_, {}, {})),
      expected_);
  EXPECT_EQ(fs::file_size(only_file()), 48u + 4 * 2);
}

TEST_F(TokenCache, OtherContentTokenizerOrKindIsAnotherCache) {
  read();
  tokenizer_.print = 2;
  read();
  EXPECT_EQ(tokenizer_.calls, 4);
  folder_.write("a.jsonl", "{\"text\":\"zz\"}\n");
  EXPECT_THAT(read(), ElementsAre('z', 'z'));
  const auto plain =
      text_tokens({text_, InputKind::kPlainText}, tokenizer_, cache_, {});
  EXPECT_EQ(plain.array.count, 14u);
}

TEST_F(TokenCache, WideVocabulariesTakeFourBytes) {
  tokenizer_.size = 65537;
  EXPECT_EQ(read(), expected_);
  EXPECT_EQ(fs::file_size(only_file()), 48u + 4 * 4);
}

// Whatever has become of the file: it is made anew, with the same tokens.
TEST_F(TokenCache, DamageIsRepaired) {
  read();
  const fs::path path = only_file();
  const std::string whole = read_file(path);
  int calls = tokenizer_.calls;
  const auto rebuilt_from = [&](const std::string& bytes) {
    folder_.write(fs::relative(path, folder_.path()).string(), bytes);
    EXPECT_EQ(read(), expected_);
    EXPECT_EQ(read_file(path), whole);
    EXPECT_EQ(tokenizer_.calls, calls + 2);
    calls = tokenizer_.calls;
  };
  for (std::size_t size = 0; size < whole.size(); size += 5) {
    rebuilt_from(whole.substr(0, size));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    rebuilt_from(changed);
  }
  rebuilt_from(whole + "xx");
  rebuilt_from("something else");
}

TEST_F(TokenCache, OneOfManyDoesTheWork) {
  std::vector<std::thread> threads;
  std::vector<Tokens> results(4);
  for (Tokens& result : results) {
    threads.emplace_back([&] { result = read(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector<Tokens>(4, expected_));
  EXPECT_EQ(tokenizer_.calls, 2);
  only_file();
}

TEST_F(TokenCache, AnEmptyFileHasNoTokens) {
  folder_.write("a.jsonl", "\n");
  EXPECT_TRUE(read().empty());
  EXPECT_TRUE(read().empty());
}

// More than a block of the checksum.
TEST_F(TokenCache, LargeFiles) {
  const std::string text(700'001, 'x');
  text_ = folder_.write("b.txt", text);
  const InputFile input{text_, InputKind::kPlainText};
  text_tokens(input, tokenizer_, cache_, {});
  const Tokens tokens = values(text_tokens(input, tokenizer_, cache_, {}));
  EXPECT_EQ(tokens, Tokens(text.size(), 'x'));
  EXPECT_EQ(tokenizer_.calls, 1);
}

}  // namespace
}  // namespace merak::data
