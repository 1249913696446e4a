#include "merak/checkpoint/safetensors/safetensors_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/checkpoint/safetensors/safetensors_file.h"
#include "merak/checkpoint/safetensors/testing.h"

namespace merak::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::random_bytes;
using testing::TempFolder;

const std::vector<TensorSpec> kSpecs = {
    {"flags", DType::kBool, {3}},  {"z", DType::kF32, {5, 7}},
    {"a", DType::kF32, {1}},       {"step", DType::kI64, {}},
    {"half", DType::kF16, {3, 1}}, {"none", DType::kF64, {0, 4}}};

std::vector<std::vector<std::byte>> make_data() {
  std::mt19937_64 random(5);
  std::vector<std::vector<std::byte>> data;
  for (const TensorSpec& spec : kSpecs) {
    data.push_back(random_bytes(
        static_cast<std::size_t>(*checked_bytes(spec.shape, spec.dtype)),
        random));
  }
  return data;
}

TEST(SafetensorsWriter, WritesAlignedAndReadsBack) {
  const TempFolder folder;
  const auto data = make_data();
  const auto path = folder.path() / "a.safetensors";
  // In pieces of one byte, to be a stream.
  const WrittenFile written =
      write_safetensors(system_files(), path, kSpecs, {{"format", "pt"}},
                        [&](std::size_t index, const Sink& sink) {
                          for (const std::byte& byte : data[index])
                            sink({&byte, 1});
                        });
  const SafetensorsFile file(path);
  EXPECT_EQ(written.bytes, file.file_bytes().size());
  EXPECT_EQ(file.header_bytes().size() % 64, 0u);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}}));
  for (std::size_t i = 0; i < kSpecs.size(); ++i) {
    const StoredTensor& tensor = file.at(kSpecs[i].name);
    EXPECT_EQ(tensor.spec, kSpecs[i]);
    const auto bytes = file.bytes(tensor);
    EXPECT_TRUE(std::ranges::equal(bytes, data[i]));
    EXPECT_EQ(tensor.begin % size_of(tensor.spec.dtype), 0u) << kSpecs[i].name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.safetensors.tmp"));
}

TEST(SafetensorsWriter, OrderOfTensorsDoesNotMatter) {
  const TempFolder folder;
  const auto data = make_data();
  const std::vector<TensorSpec> reversed(kSpecs.rbegin(), kSpecs.rend());
  write_safetensors(
      system_files(), folder.path() / "a", kSpecs, {},
      [&](std::size_t index, const Sink& sink) { sink(data[index]); });
  write_safetensors(system_files(), folder.path() / "b", reversed, {},
                    [&](std::size_t index, const Sink& sink) {
                      sink(data[kSpecs.size() - 1 - index]);
                    });
  EXPECT_EQ(read_file(folder.path() / "a"), read_file(folder.path() / "b"));
}

TEST(SafetensorsWriter, WritesNoTensorsAtAll) {
  const TempFolder folder;
  const auto path = folder.path() / "empty";
  write_safetensors(system_files(), path, {}, {},
                    [](std::size_t, const Sink&) {});
  EXPECT_TRUE(SafetensorsFile(path).tensors().empty());
}

TEST(SafetensorsWriter, AFailingSourceLeavesTheOldFile) {
  const TempFolder folder;
  const auto path = folder.write("a", "old");
  EXPECT_THROW(write_safetensors(system_files(), path, kSpecs, {},
                                 [](std::size_t, const Sink&) {
                                   throw std::logic_error("no data");
                                 }),
               std::logic_error);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.tmp"));
}

TEST(SafetensorsWriter, ChecksItsCaller) {
  const TempFolder folder;
  const auto write = [&](const std::vector<TensorSpec>& specs,
                         std::size_t bytes) {
    return message_of(ErrorKind::kInternal, [&] {
      write_safetensors(system_files(), folder.path() / "a", specs, {},
                        [&](std::size_t, const Sink& sink) {
                          sink(std::vector<std::byte>(bytes));
                        });
    });
  };
  EXPECT_THAT(write({{"x", DType::kF32, {2}}}, 7),
              HasSubstr("7 bytes for 'x'"));
  EXPECT_THAT(write({{"x", DType::kF32, {2}}}, 9),
              HasSubstr("9 bytes for 'x'"));
  EXPECT_THAT(write({{"x", DType::kI8, {1}}, {"x", DType::kI8, {1}}}, 1),
              HasSubstr("tensor 'x' twice"));
  write({{"__metadata__", DType::kI8, {1}}}, 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, NamesTheFolderThatIsMissing) {
  EXPECT_THAT(message_of(ErrorKind::kRuntime,
                         [] {
                           write_safetensors(system_files(), "/nowhere/at/all",
                                             {}, {},
                                             [](std::size_t, const Sink&) {});
                         }),
              HasSubstr("cannot write /nowhere/at/all.tmp"));
}

}  // namespace
}  // namespace merak::checkpoint
