#include "merak/checkpoint/safetensors/weight_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/checkpoint/safetensors/safetensors_writer.h"
#include "merak/checkpoint/safetensors/testing.h"

namespace merak::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TempFolder;

// One tensor of floats 0, 1, 2, ...
void write_floats(const std::filesystem::path& path, const std::string& name,
                  const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  const std::vector<TensorSpec> specs = {{name, DType::kF32, shape}};
  write_safetensors(system_files(), path, specs, {},
                    [&](std::size_t, const Sink& sink) {
                      sink(std::as_bytes(std::span(values)));
                    });
}

std::string refusal(const TempFolder& folder) {
  return message_of(ErrorKind::kUsage,
                    [&] { WeightFolder weights(folder.path()); });
}

TEST(WeightFolder, ReadsASingleFile) {
  const TempFolder folder;
  write_floats(folder.path() / "model.safetensors", "w", {2, 3});
  folder.write("model.safetensors.index.json", "not read");
  const WeightFolder weights(folder.path());
  EXPECT_THAT(weights.names(), ElementsAre("w"));
  std::vector<float> column(2);
  weights.read({"w", DType::kF32, {2, 3}}, {{0, 1}, {2, 1}},
               std::as_writable_bytes(std::span(column)));
  EXPECT_THAT(column, ElementsAre(1, 4));
}

TEST(WeightFolder, ReadsSeveralFiles) {
  const TempFolder folder;
  write_floats(folder.path() / "m-1.safetensors", "b", {2});
  write_floats(folder.path() / "m-2.safetensors", "a", {3});
  write_floats(folder.path() / "m-3.safetensors", "unnamed", {3});
  folder.write(
      "model.safetensors.index.json",
      R"({"metadata":{"total_size":20},)"
      R"("weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors"}})");
  const WeightFolder weights(folder.path());
  EXPECT_THAT(weights.names(), ElementsAre("a", "b"));
  EXPECT_EQ(weights.files().size(), 2u);
  EXPECT_EQ(weights.at("a").shape, Shape{3});
  EXPECT_EQ(weights.find("unnamed"), nullptr);
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { weights.at("unnamed"); }),
              HasSubstr("has no tensor 'unnamed'"));
}

TEST(WeightFolder, ConvertsFloatsAndNothingElse) {
  const TempFolder folder;
  write_floats(folder.path() / "model.safetensors", "w", {4});
  const WeightFolder weights(folder.path());
  std::vector<double> wide(2);
  weights.read({"w", DType::kF64, {4}}, {{2}, {2}},
               std::as_writable_bytes(std::span(wide)));
  EXPECT_THAT(wide, ElementsAre(2, 3));
  const auto read = [&](const TensorSpec& wanted) {
    return message_of(ErrorKind::kUsage, [&] {
      weights.read(wanted, whole(wanted.shape),
                   std::as_writable_bytes(std::span(wide)));
    });
  };
  EXPECT_THAT(read({"w", DType::kI32, {4}}),
              HasSubstr("'w' is F32, but the model's is I32"));
  EXPECT_THAT(read({"w", DType::kF32, {2, 2}}),
              HasSubstr("has shape [4], but the model's has [2, 2]"));
  EXPECT_THAT(read({"v", DType::kF32, {4}}), HasSubstr("has no tensor 'v'"));
}

TEST(WeightFolder, RefusesWhatIsNoFolderOfWeights) {
  const TempFolder folder;
  EXPECT_THAT(refusal(folder), HasSubstr("has neither model.safetensors nor"));
  const auto index = [&](const std::string& text) {
    folder.write("model.safetensors.index.json", text);
    return refusal(folder);
  };
  EXPECT_THAT(index("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(index("[]"), HasSubstr("no object 'weight_map'"));
  EXPECT_THAT(index(R"({"weight_map":{"a":7}})"), HasSubstr("tensor 'a'"));
  EXPECT_THAT(index(R"({"weight_map":{"a":"../b"}})"),
              HasSubstr("the name of a file in the same folder"));
  EXPECT_THAT(index(R"({"weight_map":{"a":"none.safetensors"}})"),
              HasSubstr("none.safetensors: No such file"));
  write_floats(folder.path() / "m.safetensors", "b", {2});
  EXPECT_THAT(index(R"({"weight_map":{"a":"m.safetensors"}})"),
              HasSubstr("puts tensor 'a' in m.safetensors, which does not"));
  EXPECT_THAT(
      index(R"({"weight_map":{"b":"m.safetensors","b":"m.safetensors"}})"),
      HasSubstr("'b' is given twice"));
}

}  // namespace
}  // namespace merak::checkpoint
