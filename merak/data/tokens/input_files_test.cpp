#include "merak/data/tokens/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/data/test_support.h"

namespace merak::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InputFiles : public ::testing::Test {
 protected:
  std::vector<std::string> names(std::vector<std::string> patterns) const {
    for (std::string& pattern : patterns) pattern = at(pattern);
    std::vector<std::string> result;
    for (const InputFile& input : find_inputs(patterns, "data.train")) {
      result.push_back(input.path.filename().string());
    }
    return result;
  }
  std::string refusal(const std::string& pattern) const {
    const std::vector<std::string> patterns = {at(pattern)};
    return error_of([&] { find_inputs(patterns, "data.train"); });
  }
  std::string at(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  TemporaryFolder folder_;
};

TEST_F(InputFiles, GlobsAreSortedByBytesPatternsKeepTheirOrder) {
  for (const char* name : {"b.txt", "a.txt", "B.txt", "a10.txt", "a9.txt",
                           "c.jsonl", "d[1].txt"}) {
    folder_.write(name, "x");
  }
  EXPECT_THAT(names({"c.jsonl", "?.txt"}),
              ElementsAre("c.jsonl", "B.txt", "a.txt", "b.txt"));
  EXPECT_THAT(names({"a*.txt"}), ElementsAre("a.txt", "a10.txt", "a9.txt"));
  EXPECT_THAT(names({"a.txt", "a.txt"}), ElementsAre("a.txt", "a.txt"));
  EXPECT_THAT(names({"d[1].txt"}), ElementsAre("d[1].txt"));
}

TEST_F(InputFiles, AMegatronPairIsOneInput) {
  folder_.write("m.bin", "x");
  folder_.write("m.idx", "MMIDIDX");
  for (const char* pattern : {"m.bin", "m.idx", "m.*", "*"}) {
    EXPECT_THAT(names({pattern}), ElementsAre("m.idx")) << pattern;
  }
  EXPECT_THAT(names({"m.bin", "m.idx"}), ElementsAre("m.idx", "m.idx"));
  folder_.write("alone.bin", "x");
  EXPECT_THAT(refusal("alone.bin"), HasSubstr("needs alone.idx beside it"));
}

TEST_F(InputFiles, RefusalsNameTheSettingAndTheFile) {
  folder_.write("a.parquet", "x");
  folder_.write("a.safetensors", "x");
  folder_.write("train.idx", std::string_view("\0\0\x08\x03", 4));
  folder_.write("train-images-idx3-ubyte", std::string_view("\0\0\x08\x03", 4));
  EXPECT_THAT(refusal("*.none"), HasSubstr("data.train: no file matches"));
  EXPECT_THAT(refusal("none.txt"), HasSubstr("none.txt"));
  EXPECT_THAT(refusal("a.parquet"), HasSubstr("no known kind; supported"));
  EXPECT_THAT(refusal("a.safetensors"), HasSubstr("not supported yet"));
  EXPECT_THAT(refusal("train.idx"), HasSubstr("MNIST"));
  EXPECT_THAT(refusal("train-*"), HasSubstr("MNIST"));
  EXPECT_THAT(refusal("."), HasSubstr("is a folder"));
  EXPECT_THAT(error_of([] { find_inputs({}, "data.train"); }),
              HasSubstr("data.train names no files"));
}

}  // namespace
}  // namespace merak::data
