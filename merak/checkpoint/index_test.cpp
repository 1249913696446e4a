#include "merak/checkpoint/index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "merak/base/xxh64.h"
#include "merak/checkpoint/safetensors/testing.h"

namespace merak::checkpoint {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

// Two halves of a matrix in two files, a scalar, a tensor without elements.
Index example() {
  return {.step = 100,
          .sequence = 7,
          .layout = R"({"data":2})",
          .model = R"({"model_type":"gpt2","n":[1,{"a":null}]})",
          .trainer = R"({"seed":-1})",
          .contents = {
              .files = {{"weights-r00000.safetensors", 800, 0xfeed},
                        {"weights-r00001.safetensors", 64, 1}},
              .tensors = {{{"exp_avg", "w", DType::kF64, {}},
                           {{0, "exp_avg/w", {{}, {}}, ~std::uint64_t{0}}}},
                          {{"weight", "empty", DType::kBool, {0, 2}}},
                          {{"weight", "w", DType::kBF16, {4, 2}},
                           {{0, "w[0:1, 0:2]", {{0, 0}, {1, 2}}, 5},
                            {1, "w[1:4, 0:2]", {{1, 0}, {3, 2}}, 6}}}}}};
}

std::string with_checksum(const json& document) {
  // The checksum opens the object; the rest is what it is of.
  const std::string rest = document.dump().substr(1) + "\n";
  return fmt::format("{{\"xxh64\":\"{:016x}\",\n", xxh64(rest)) + rest;
}

json example_json() {
  json document = json::parse(format_index(example()));
  document.erase("xxh64");
  return document;
}

std::string refusal(const std::string& text) {
  const std::string message = message_of(
      ErrorKind::kUsage, [&] { parse_index(text, "dir/checkpoint.json"); });
  EXPECT_THAT(message, StartsWith("dir/checkpoint.json"));
  EXPECT_LT(message.size(), 400u);
  return message;
}

// What is said of the example with one value changed.
std::string refusal_of(std::string_view pointer, const json& value) {
  json document = example_json();
  document[json::json_pointer(std::string(pointer))] = value;
  return refusal(with_checksum(document));
}

TEST(Index, ReadsWhatItWrote) {
  const Index index = example();
  const std::string text = format_index(index);
  const Index read = parse_index(text, "here");
  EXPECT_EQ(read.step, 100);
  EXPECT_EQ(read.sequence, 7);
  EXPECT_EQ(read.layout, index.layout);
  EXPECT_EQ(read.model, index.model);
  EXPECT_EQ(read.trainer, index.trainer);
  EXPECT_EQ(read.contents.files[0].header_xxh64, 0xfeedu);
  EXPECT_EQ(read.contents.tensors[0].info, index.contents.tensors[0].info);
  EXPECT_EQ(read.contents.tensors[2].parts[1].slice,
            index.contents.tensors[2].parts[1].slice);
  // Every value is in the text.
  EXPECT_EQ(format_index(read), text);
}

TEST(Index, BeginsWithTheChecksumOfTheRestAsTheFormatSays) {
  const std::string text = format_index(example());
  const std::size_t line = text.find('\n') + 1;
  EXPECT_EQ(text.substr(0, line),
            fmt::format("{{\"xxh64\":\"{:016x}\",\n",
                        xxh64(std::string_view(text).substr(line))));
  EXPECT_TRUE(text.ends_with('\n'));
}

TEST(Index, RefusesEveryDamagedByteAndEveryShorterFile) {
  const std::string text = format_index(example());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_THAT(refusal(damaged), HasSubstr("was damaged or edited"));
    EXPECT_THAT(refusal(text.substr(0, at)), HasSubstr("was damaged"));
  }
}

TEST(Index, RefusesOtherFormatsAndVersionsBeforeAnythingElse) {
  EXPECT_THAT(refusal_of("/version", 2),
              HasSubstr("has version 2; this Merak reads version 1"));
  EXPECT_THAT(refusal_of("/format", "other"), HasSubstr("'format' is not"));
  json newer = example_json();
  newer["version"] = 2;
  newer["compression"] = "zstd";
  EXPECT_THAT(refusal(with_checksum(newer)), HasSubstr("has version 2"));
}

TEST(Index, RefusesWhatThePageDoesNotAllow) {
  const struct {
    std::string_view at;
    json value;
    std::string_view says;
  } cases[] = {
      {"/step", -1, "step is -1"},
      {"/sequence", std::numeric_limits<std::int64_t>::max(),
       "no sequence number can follow"},
      {"/model", json::array(), "model is []"},
      {"/extra", 1, "unknown key 'extra'"},
      {"/files/0/name", "../up", "'../up' is no name of a file"},
      {"/files/0/name", ".hidden", "is no name of a file"},
      {"/files/0/name", "", "is no name of a file"},
      {"/files/1/name", "weights-r00000.safetensors", "is named twice"},
      {"/files/0/bytes", 1.5, "bytes is 1.5"},
      {"/files/0/header_xxh64", "12", "header_xxh64 is"},
      {"/tensors/2/parts/0/file", 2, "a part is in file 2 of 2"},
      {"/tensors/2/parts/1/offset", {2, 0}, "outside of shape [4, 2]"},
      {"/tensors/2/parts/1/offset", {1}, "outside of shape [4, 2]"},
      {"/tensors/2/parts/1/extent", {0, 2}, "is empty"},
      {"/tensors/2/parts/1/extent", {2, 2}, "elements [3:4, 0:2] are missing"},
      {"/tensors/2/parts/1/offset", {0, 0}, "elements [0:1, 0:2] are held"},
      {"/tensors/2/shape", {5, 2}, "elements [4:5, 0:2] are missing"},
      {"/tensors/2/shape",
       {std::int64_t{1} << 40, std::int64_t{1} << 40},
       "more bytes than"},
      {"/tensors/2/dtype", "F8", "dtype is"},
      {"/tensors/2/kind", "", "a kind is not empty"},
      {"/tensors/2/kind", "a/b", "a kind is not empty"},
      {"/tensors/1/name", "w", "tensors are sorted, each once"},
      {"/tensors/1/name", "z", "tensor 'w' comes after tensor 'z'"},
  };
  for (const auto& [at, value, says] : cases) {
    SCOPED_TRACE(at);
    EXPECT_THAT(refusal_of(at, value), HasSubstr(std::string(says)));
  }
  json lacking = example_json();
  lacking.erase("trainer");
  EXPECT_THAT(refusal(with_checksum(lacking)), HasSubstr("lacks 'trainer'"));
}

TEST(Index, RefusesANameThatIsGivenTwice) {
  json document = example_json();
  std::string rest = document.dump().substr(1) + "\n";
  rest.insert(rest.find("\"step\""), "\"step\":5,");
  EXPECT_THAT(
      refusal(fmt::format("{{\"xxh64\":\"{:016x}\",\n", xxh64(rest)) + rest),
      HasSubstr("the name 'step' is given twice"));
}

}  // namespace
}  // namespace merak::checkpoint
