#include "merak/data/tokenizer/load_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "merak/data/test_support.h"

namespace merak::data {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json base_file() {
  return json::parse(
      std::ifstream("merak/data/tokenizer/testdata/small_bpe.json"));
}

class LoadTokenizer : public ::testing::Test {
 protected:
  // The error of the small tokenizer after a merge patch.
  std::string refusal(const char* patch) const {
    json file = base_file();
    file.merge_patch(json::parse(patch));
    const std::string path = folder_.write("t.json", file.dump());
    const std::string message = error_of([&] { load_tokenizer(path); });
    EXPECT_THAT(message, HasSubstr(path));
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(LoadTokenizer, Bytes) {
  const auto tokenizer = load_tokenizer("bytes");
  EXPECT_THAT(tokenizer->encode(std::string_view("a\0\xFF", 3)),
              ElementsAre(97, 0, 255));
  const std::vector<std::int32_t> tokens = {97, 0, 255};
  EXPECT_EQ(tokenizer->decode(tokens), std::string("a\0\xFF", 3));
  EXPECT_EQ(tokenizer->vocabulary_size(), 256);
  EXPECT_FALSE(tokenizer->end_of_text());
}

TEST_F(LoadTokenizer, EndOfTextByConfigElseByWellKnownName) {
  json file = base_file();
  const std::string path = folder_.write("tokenizer.json", file.dump());
  const auto plain = load_tokenizer(folder_.path().string());
  EXPECT_EQ(plain->end_of_text(), 0);
  folder_.write("tokenizer_config.json", R"({"eos_token": "the"})");
  const auto configured = load_tokenizer(path);
  EXPECT_EQ(configured->end_of_text(), file["model"]["vocab"]["the"]);
  EXPECT_NE(configured->fingerprint(), plain->fingerprint());
  folder_.write("tokenizer_config.json",
                R"({"eos_token": {"content": "<none>"}})");
  EXPECT_THAT(error_of([&] { load_tokenizer(path); }), HasSubstr("<none>"));
}

TEST_F(LoadTokenizer, Gpt2FilesAreTheSameTokenizer) {
  const json file = base_file();
  std::string merges = "#version: 0.2\n";
  for (const json& merge : file["model"]["merges"]) {
    merges +=
        merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  }
  const auto from_json = load_tokenizer(folder_.write("t.json", file.dump()));
  const std::string vocabulary = file["model"]["vocab"].dump();
  folder_.write("hf/vocab.json", vocabulary);
  folder_.write("hf/merges.txt", merges);
  const auto openai = folder_.write("openai/encoder.json", vocabulary);
  folder_.write("openai/vocab.bpe", merges);
  for (const std::string& name : {(folder_.path() / "hf").string(), openai}) {
    const auto tokenizer = load_tokenizer(name);
    const std::string text = "It was, said he, the\n\n best<|endoftext|> 1";
    EXPECT_EQ(tokenizer->encode(text), from_json->encode(text));
    EXPECT_EQ(tokenizer->end_of_text(), 0);
    EXPECT_EQ(tokenizer->vocabulary_size(), from_json->vocabulary_size());
  }
  folder_.write("openai/vocab.bpe", "a b\nab\n");
  EXPECT_THAT(error_of([&] { load_tokenizer(openai); }),
              HasSubstr("vocab.bpe:2: \"ab\""));
  std::filesystem::remove(folder_.path() / "openai/vocab.bpe");
  EXPECT_THAT(error_of([&] { load_tokenizer(openai); }),
              HasSubstr("merges.txt"));
}

TEST_F(LoadTokenizer, RefusesOtherKindsByFileAndField) {
  EXPECT_THAT(refusal(R"({"model": {"type": "WordPiece"}})"),
              HasSubstr("model.type is \"WordPiece\"; supported: \"BPE\""));
  EXPECT_THAT(refusal(R"({"model": {"type": "Unigram"}})"),
              HasSubstr("model.type"));
  EXPECT_THAT(refusal(R"({"model": {"end_of_word_suffix": "</w>"}})"),
              HasSubstr("model.end_of_word_suffix is \"</w>\""));
  EXPECT_THAT(refusal(R"({"model": {"dropout": 0.1}})"),
              HasSubstr("model.dropout"));
  EXPECT_THAT(refusal(R"({"model": {"byte_fallback": true}})"),
              HasSubstr("model.byte_fallback is true"));
  EXPECT_THAT(refusal(R"({"model": {"merges": ["a b c"]}})"),
              HasSubstr("model.merges[0] is \"a b c\""));
  EXPECT_THAT(refusal(R"({"model": {"vocab": {"a": -1}}})"),
              HasSubstr("model.vocab.a is -1"));
  EXPECT_THAT(refusal(R"({"normalizer": {"type": "NFC"}})"),
              HasSubstr("normalizer.type is \"NFC\""));
  EXPECT_THAT(refusal(R"({"pre_tokenizer": {"type": "Metaspace"}})"),
              AllOf(HasSubstr("pre_tokenizer.type is \"Metaspace\""),
                    HasSubstr("ByteLevel")));
  EXPECT_THAT(refusal(R"({"pre_tokenizer": null})"),
              HasSubstr("pre_tokenizer is missing"));
  EXPECT_THAT(refusal(R"({"pre_tokenizer": {"type": "Sequence",
                "pretokenizers": [{"type": "Split", "behavior": "Isolated",
                                   "pattern": {"Regex": "("}}]}})"),
              HasSubstr("pre_tokenizer.pretokenizers[0]"));
  EXPECT_THAT(refusal(R"({"post_processor": {"type": "BertProcessing"}})"),
              HasSubstr("post_processor.type"));
  EXPECT_THAT(refusal(R"({"added_tokens": [{"id": 5, "content": "the"}]})"),
              HasSubstr("added_tokens[0].id is 5"));
  EXPECT_THAT(refusal(R"({"added_tokens": [{"content": "x"}]})"),
              HasSubstr("added_tokens[0].id is missing"));
}

TEST_F(LoadTokenizer, RefusesWhatIsNoTokenizer) {
  const auto message = [](const std::string& name) {
    return error_of([&] { load_tokenizer(name); });
  };
  EXPECT_THAT(message(folder_.write("spm.model", "x")),
              HasSubstr("SentencePiece models are not supported yet"));
  EXPECT_THAT(message("/no/such/file.json"), HasSubstr("no such file"));
  EXPECT_THAT(message(folder_.write("x.tiktoken", "")),
              HasSubstr("no known kind"));
  EXPECT_THAT(message(folder_.path().string()), HasSubstr("no tokenizer"));
  EXPECT_THAT(message(folder_.write("a.json", R"({"model": {)")),
              HasSubstr("not valid JSON"));
  EXPECT_THAT(message(folder_.write("b.json", R"({"model": {}})")),
              HasSubstr("b.json: model"));
  folder_.write("merges.txt", "");
  EXPECT_THAT(message(folder_.write("vocab.json", "[1]")),
              HasSubstr("not a JSON object"));
  EXPECT_THAT(message(folder_.write("vocab.json", "{}")),
              HasSubstr("vocabulary is empty"));
}

// Every cut of a good file is an error with a message, never a crash.
TEST_F(LoadTokenizer, SurvivesTruncation) {
  const std::string whole = base_file().dump();
  for (std::size_t size = 0; size < whole.size(); size += 997) {
    const auto path = folder_.write("t.json", whole.substr(0, size));
    EXPECT_FALSE(error_of([&] { load_tokenizer(path); }).empty()) << size;
  }
}

}  // namespace
}  // namespace merak::data
