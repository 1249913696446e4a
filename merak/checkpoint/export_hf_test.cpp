#include "merak/checkpoint/export_hf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "merak/base/file.h"
#include "merak/checkpoint/safetensors/testing.h"
#include "merak/checkpoint/safetensors/weight_folder.h"
#include "merak/checkpoint/testing/faulty_files.h"
#include "merak/checkpoint/testing/saves.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using testing::Fault;
using testing::FaultyFiles;
using ::testing::HasSubstr;
using testing::Killed;
using testing::message_of;
using testing::TempFolder;

void fail_to_warn(const std::string& line) { ADD_FAILURE() << line; }

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A checkpoint with values that are known in every type.
class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    const std::vector<float> values = {1.0F, -2.5F, 0.1F, 1e30F};
    const std::vector<std::vector<std::byte>> memory = {
        bytes_of(values),
        bytes_of(std::vector<std::int64_t>{7}),
        {},
        bytes_of(values)};
    const std::vector<TensorInfo> infos = {
        {"weight", "w", DType::kF32, {2, 2}},
        {"weight", "count", DType::kI64, {}},
        {"weight", "empty", DType::kF32, {3, 0}},
        {"exp_avg", "w", DType::kF32, {2, 2}}};
    std::vector<ShardTensor> tensors;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      tensors.push_back({infos[i], whole(infos[i].shape), memory[i]});
    }
    const fs::path checkpoints = folder_.path() / "run" / "checkpoints";
    fs::create_directories(checkpoints);
    const std::string manifest =
        write_shards(system_files(), {checkpoints, 1, 0}, tensors);
    checkpoint_.emplace(open_checkpoint(
        publish(system_files(),
                {.checkpoints = checkpoints,
                 .step = 1,
                 .model = R"({"n_layer":2,"torch_dtype":"float64"})"},
                std::vector<std::string>{manifest}, fail_to_warn)));
  }

  fs::path target() const { return folder_.path() / "out"; }
  fs::path partial() const { return folder_.path() / "out.partial"; }

  template <typename T>
  std::vector<T> exported(const std::string& name) const {
    const SafetensorsFile file(target() / "model.safetensors");
    const auto bytes = file.bytes(file.at(name));
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string failure(ErrorKind kind, DType dtype = DType::kF32) const {
    return message_of(kind, [&] { export_hf(*checkpoint_, target(), dtype); });
  }

  TempFolder folder_;
  std::optional<Checkpoint> checkpoint_;
};

TEST_F(ExportTest, WritesWeightsAndConfigurationAndNothingElse) {
  export_hf(*checkpoint_, target() / "");
  EXPECT_THAT(system_files().list(target()),
              ElementsAre("config.json", "model.safetensors"));
  EXPECT_THAT(exported<float>("w"), ElementsAre(1.0F, -2.5F, 0.1F, 1e30F));
  EXPECT_THAT(exported<std::int64_t>("count"), ElementsAre(7));
  const WeightFolder folder(target());
  EXPECT_THAT(folder.names(), ElementsAre("count", "empty", "w"));
  EXPECT_EQ(folder.at("empty").shape, (Shape{3, 0}));
  EXPECT_EQ(folder.files()[0].metadata().at("format"), "pt");
  EXPECT_EQ(nlohmann::json::parse(read_file(target() / "config.json")),
            nlohmann::json({{"n_layer", 2}, {"dtype", "float32"}}));
  EXPECT_FALSE(fs::exists(partial()));
}

TEST_F(ExportTest, ConvertsFloatingTensorsOnly) {
  export_hf(*checkpoint_, target(), DType::kBF16);
  // 0.1 is nearest to 0x3dcd, 1e30 to 0x714a.
  EXPECT_THAT(exported<std::uint16_t>("w"),
              ElementsAre(0x3f80, 0xc020, 0x3dcd, 0x714a));
  EXPECT_THAT(exported<std::int64_t>("count"), ElementsAre(7));
  EXPECT_THAT(read_file(target() / "config.json"),
              HasSubstr(R"("dtype": "bfloat16")"));
  fs::remove_all(target());
  export_hf(*checkpoint_, target(), DType::kF16);
  EXPECT_THAT(exported<std::uint16_t>("w"),
              ElementsAre(0x3c00, 0xc100, 0x2e66, 0x7c00));
  fs::remove_all(target());
  export_hf(*checkpoint_, target(), DType::kF64);
  EXPECT_THAT(exported<double>("w"),
              ElementsAre(1.0, -2.5, double{0.1F}, double{1e30F}));
}

TEST_F(ExportTest, RefusesOtherTypesAndFoldersWithSomethingInThem) {
  EXPECT_THAT(failure(ErrorKind::kUsage, DType::kI8),
              HasSubstr("cannot be exported as i8; f16, bf16, f32 and f64"));
  EXPECT_FALSE(fs::exists(target()));
  fs::create_directory(target());
  folder_.write("out/notes.txt", "mine");
  EXPECT_THAT(failure(ErrorKind::kUsage), HasSubstr("is not an empty folder"));
  fs::remove_all(target());
  folder_.write("out", "a file");
  EXPECT_THAT(failure(ErrorKind::kUsage), HasSubstr("is not an empty folder"));
}

TEST_F(ExportTest, TakesAnEmptyFolderAndAnEarlierTrysPlace) {
  fs::create_directory(target());
  fs::create_directory(partial());
  folder_.write("out.partial/model.safetensors.tmp", "begun");
  export_hf(*checkpoint_, target());
  EXPECT_THAT(system_files().list(target()), ::testing::SizeIs(2));
  EXPECT_FALSE(fs::exists(partial()));
}

TEST_F(ExportTest, AFolderOfAUserInThePlaceIsLeftAsItIs) {
  fs::create_directory(partial());
  folder_.write("out.partial/model.safetensors", "mine");
  folder_.write("out.partial/notes.txt", "mine");
  EXPECT_THAT(failure(ErrorKind::kRuntime), HasSubstr("out.partial"));
  EXPECT_THAT(system_files().list(partial()),
              ElementsAre("model.safetensors", "notes.txt"));
}

TEST_F(ExportTest, AppearsWholeOrNotAtAllWhereverTheDiskGoesWrong) {
  for (const Fault fault : {Fault::kError, Fault::kFull, Fault::kKill}) {
    for (std::int64_t at = 0;; ++at) {
      FaultyFiles files(system_files(), fault, at);
      std::string error;
      try {
        export_hf(*checkpoint_, target(), DType::kF32, files);
      } catch (const Killed&) {
        error = "killed";
      } catch (const Error& thrown) {
        EXPECT_EQ(thrown.kind(), ErrorKind::kRuntime);
        error = thrown.what();
      }
      SCOPED_TRACE(fmt::format("operation {}: {}", at, files.struck()));
      EXPECT_EQ(error.empty(), !files.has_struck());
      if (error.empty()) break;
      EXPECT_THAT(error, AnyOf(HasSubstr(target().string()),
                               HasSubstr(folder_.path().string() + ": "),
                               HasSubstr("killed")));
      if (!system_files().list(target()).empty()) {
        EXPECT_THAT(exported<float>("w"), ElementsAre(1, -2.5F, 0.1F, 1e30F));
        EXPECT_TRUE(fs::exists(target() / "config.json"));
      }
      EXPECT_TRUE(fault == Fault::kKill || !fs::exists(partial()));
      // The next one works.
      fs::remove_all(target());
      export_hf(*checkpoint_, target());
      fs::remove_all(target());
      EXPECT_FALSE(fs::exists(partial()));
      if (HasFailure()) return;
    }
    fs::remove_all(target());
  }
}

// A disk that writes something else is found before the export appears.
TEST_F(ExportTest, WeightsThatDoNotReadBackAreAnError) {
  FaultyFiles sound(system_files());
  export_hf(*checkpoint_, target(), DType::kF32, sound);
  fs::remove_all(target());
  int found = 0;
  const std::string wrote =
      "write " + (partial() / "model.safetensors.tmp").string();
  for (std::size_t at = 0; at < sound.operations().size(); ++at) {
    if (sound.operations()[at] != wrote) continue;
    FaultyFiles files(system_files(), Fault::kFlip,
                      static_cast<std::int64_t>(at));
    const auto action = [&] {
      export_hf(*checkpoint_, target(), DType::kF32, files);
    };
    ++found;
    EXPECT_THAT(message_of(ErrorKind::kRuntime, action),
                HasSubstr("model.safetensors does not read back as it was "
                          "written"));
    EXPECT_FALSE(fs::exists(target()));
  }
  EXPECT_EQ(found, 3);  // the header and two tensors with elements
}

}  // namespace
}  // namespace merak::checkpoint
