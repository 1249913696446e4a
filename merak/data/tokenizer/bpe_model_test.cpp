#include "merak/data/tokenizer/bpe_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "merak/data/test_support.h"

namespace merak::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

BpeTables letters() {
  BpeTables tables;
  tables.source = "t.json";
  tables.vocabulary = {{"a", 0}, {"b", 1}, {"c", 2}};
  return tables;
}

void add_merge(BpeTables& tables, std::string left, std::string right) {
  const auto id = static_cast<std::int32_t>(tables.vocabulary.size());
  tables.vocabulary.emplace(left + right, id);
  tables.merges.emplace_back(std::move(left), std::move(right));
}

Tokens encode(const BpeModel& model, std::string_view word) {
  BpeModel::Scratch scratch;
  Tokens once, twice;
  model.encode_word(word, scratch, once);
  model.encode_word(word, scratch, twice);  // from the cache
  EXPECT_EQ(once, twice);
  return once;
}

TEST(BpeModel, MergesByRankThenFromTheLeft) {
  BpeTables tables = letters();
  add_merge(tables, "b", "c");   // 3
  add_merge(tables, "a", "b");   // 4
  add_merge(tables, "a", "a");   // 5
  add_merge(tables, "aa", "a");  // 6
  const BpeModel model(tables);
  EXPECT_THAT(encode(model, "abc"), ElementsAre(0, 3));
  EXPECT_THAT(encode(model, "abab"), ElementsAre(4, 4));
  EXPECT_THAT(encode(model, "aaa"), ElementsAre(6));
  EXPECT_THAT(encode(model, "aaaa"), ElementsAre(5, 5));
  EXPECT_THAT(encode(model, "aaaaa"), ElementsAre(5, 6));
}

// The definition, one merge at a time.
Tokens slowly(const BpeTables& tables, std::string_view word) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  for (bool merged = true; merged;) {
    merged = false;
    for (const auto& [left, right] : tables.merges) {
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        if (parts[i] != left || parts[i + 1] != right) continue;
        parts[i] += right;
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        merged = true;
        break;
      }
      if (merged) break;
    }
  }
  Tokens tokens;
  for (const auto& part : parts) tokens.push_back(tables.vocabulary.at(part));
  return tokens;
}

TEST(BpeModel, AgreesWithTheDefinitionOnRandomMerges) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    BpeTables tables = letters();
    std::vector<std::string> known = {"a", "b", "c"};
    for (int i = 0; i < 12; ++i) {
      const std::string left = known[random() % known.size()];
      const std::string right = known[random() % known.size()];
      if (tables.vocabulary.contains(left + right)) continue;
      known.push_back(left + right);
      add_merge(tables, left, right);
    }
    const BpeModel model(tables);
    for (int i = 0; i < 20; ++i) {
      std::string word(random() % 30, 'a');
      for (char& c : word) c = static_cast<char>('a' + random() % 3);
      ASSERT_EQ(encode(model, word), slowly(tables, word)) << word;
    }
  }
}

TEST(BpeModel, UnknownBytes) {
  BpeTables tables = letters();
  EXPECT_THAT(error_of([&] { encode(BpeModel(tables), "a\x80"); }),
              HasSubstr("t.json: the vocabulary has no token for the byte "
                        "0x80"));
  tables.vocabulary.emplace("<unk>", 9);
  tables.unknown_token = "<unk>";
  EXPECT_THAT(encode(BpeModel(tables), "xxa"), ElementsAre(9, 9, 0));
  tables.fuse_unknown = true;
  EXPECT_THAT(encode(BpeModel(tables), "xxa"), ElementsAre(9, 0));
}

TEST(BpeModel, IgnoreMergesTakesWholeWords) {
  BpeTables tables = letters();
  tables.vocabulary.emplace("abc", 8);  // no merge leads there
  EXPECT_THAT(encode(BpeModel(tables), "abc"), ElementsAre(0, 1, 2));
  tables.ignore_merges = true;
  EXPECT_THAT(encode(BpeModel(tables), "abc"), ElementsAre(8));
}

TEST(BpeModel, RefusesBrokenTables) {
  BpeTables tables = letters();
  tables.merges.emplace_back("a", "x");
  EXPECT_THAT(error_of([&] { BpeModel{tables}; }),
              HasSubstr("merge 0 (\"a x\") needs the token \"x\""));
  tables = letters();
  tables.merges.emplace_back("a", "b");
  EXPECT_THAT(error_of([&] { BpeModel{tables}; }), HasSubstr("\"ab\""));
  tables = letters();
  tables.vocabulary["z"] = 2'000'000'000;
  EXPECT_THAT(error_of([&] { BpeModel{tables}; }), HasSubstr("2000000000"));
}

// Quadratic merging would need 10^12 steps here.
TEST(BpeModel, AMegabyteWordIsNoTrouble) {
  BpeTables tables = letters();
  std::string power = "a";
  for (int i = 0; i < 10; ++i, power += power) add_merge(tables, power, power);
  const BpeModel model(tables);
  const Tokens tokens = encode(model, std::string(1 << 20, 'a'));
  EXPECT_EQ(tokens.size(), 1u << 10);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 12), 1 << 10);
}

}  // namespace
}  // namespace merak::data
