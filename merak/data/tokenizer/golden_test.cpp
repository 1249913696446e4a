// Against Hugging Face `tokenizers`: scripts/make_tokenizer_goldens.py made the
// files, and says how the variants differ.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "merak/data/test_support.h"
#include "merak/data/tokenizer/load_tokenizer.h"
#include "merak/data/tokenizer/utf8.h"

namespace merak::data {
namespace {

using nlohmann::json;

constexpr const char* kFolder = "merak/data/tokenizer/testdata/";

json base_file() {
  return json::parse(std::ifstream(std::string(kFolder) + "small_bpe.json"));
}

std::vector<json> goldens() {
  std::ifstream file(std::string(kFolder) + "goldens.jsonl");
  std::vector<json> result;
  for (std::string line; std::getline(file, line);) {
    result.push_back(json::parse(line));
  }
  return result;
}

std::unique_ptr<const Tokenizer> load(const TemporaryFolder& folder,
                                      const json& golden) {
  json file = base_file();
  file.merge_patch(golden["patch"]);
  return load_tokenizer(folder.write("tokenizer.json", file.dump()));
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(
        static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string input_of(const json& item) {
  return item.contains("hex") ? from_hex(item["hex"])
                              : item["text"].get<std::string>();
}

TEST(Golden, EncodesAsHuggingFace) {
  const auto all = goldens();
  ASSERT_EQ(all.size(), 13u);
  for (const json& golden : all) {
    const TemporaryFolder folder;
    const auto tokenizer = load(folder, golden);
    ASSERT_GT(golden["cases"].size(), 30u);
    for (const json& item : golden["cases"]) {
      EXPECT_EQ(tokenizer->encode(input_of(item)),
                item["ids"].get<std::vector<std::int32_t>>())
          << golden["name"] << ": " << item.dump();
    }
  }
}

TEST(Golden, DecodingGivesTheTextBack) {
  for (const json& golden : goldens()) {
    const std::string name = golden["name"];
    if (name == "roberta" || name.starts_with("split_Removed")) continue;
    const TemporaryFolder folder;
    const auto tokenizer = load(folder, golden);
    for (const json& item : golden["cases"]) {
      const std::string text = replace_invalid_utf8(input_of(item));
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << name;
    }
  }
}

TEST(Golden, ManyThreadsMayEncode) {
  const TemporaryFolder folder;
  const json golden = goldens().front();
  const auto tokenizer = load(folder, golden);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (const json& item : golden["cases"]) {
        count += tokenizer->encode(input_of(item)) !=
                 item["ids"].get<std::vector<std::int32_t>>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Golden, Llama3NamesItsPromptPrefix) {
  const TemporaryFolder folder;
  const json golden = goldens()[1];
  ASSERT_EQ(golden["name"], "llama3");
  const auto tokenizer = load(folder, golden);
  ASSERT_EQ(tokenizer->prompt_prefix().size(), 1u);
  EXPECT_EQ(tokenizer->decode(tokenizer->prompt_prefix()), "<|begin_of_text|>");
  EXPECT_EQ(tokenizer->prompt_prefix()[0], tokenizer->vocabulary_size() - 1);
}

}  // namespace
}  // namespace merak::data
