#include "merak/checkpoint/safetensors/safetensors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "merak/checkpoint/safetensors/safetensors_writer.h"
#include "merak/checkpoint/safetensors/testing.h"

namespace merak::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::TempFolder;

std::string file_bytes(std::string_view header, std::size_t data,
                       std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + std::string(header) + std::string(data, 'x');
}

std::string file_bytes(std::string_view header, std::size_t data) {
  return file_bytes(header, data, header.size());
}

std::string refusal(const std::string& bytes) {
  const TempFolder folder;
  const auto path = folder.write("bad.safetensors", bytes);
  const std::string message =
      message_of(ErrorKind::kUsage, [&] { SafetensorsFile file(path); });
  EXPECT_THAT(message, HasSubstr("bad.safetensors"));
  EXPECT_LT(message.size(), 600u);
  return message;
}

constexpr std::string_view kTwo =
    R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
    R"("b":{"dtype":"I8","shape":[3],"data_offsets":[16,19]}})";

TEST(SafetensorsFile, ReadsWhatTheReferenceWriterWrites) {
  const TempFolder folder;
  // Unpadded, trailing spaces, metadata, a scalar, an empty tensor.
  const std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("s":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
      R"("e":{"dtype":"F16","shape":[0,5],"data_offsets":[8,8]},)"
      R"("n\u00e9":{"dtype":"BOOL","shape":[2],"data_offsets":[8,10]}}   )";
  const SafetensorsFile file(
      folder.write("ok.safetensors", file_bytes(header, 10)));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.at("s").spec.shape, Shape{});
  EXPECT_EQ(file.bytes(file.at("s")).size(), 8u);
  EXPECT_EQ(file.bytes(file.at("e")).size(), 0u);
  EXPECT_EQ(file.at("n\u00e9").spec.dtype, DType::kBool);
  EXPECT_EQ(file.find("nothing"), nullptr);
}

TEST(SafetensorsFile, SuggestsTheNearestName) {
  const TempFolder folder;
  const SafetensorsFile file(folder.write(
      "ok.safetensors",
      file_bytes(
          R"({"wte.weight":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
          1)));
  EXPECT_THAT(
      message_of(ErrorKind::kUsage, [&] { file.at("wte.weigth"); }),
      HasSubstr("has no tensor 'wte.weigth'; did you mean 'wte.weight'"));
}

TEST(SafetensorsFile, RefusesEveryTruncationAndAddition) {
  const std::string whole_file = file_bytes(kTwo, 19);
  for (std::size_t size = 0; size < whole_file.size(); ++size) {
    refusal(whole_file.substr(0, size));
  }
  EXPECT_THAT(refusal(whole_file + "y"),
              HasSubstr("end at byte 19 of the data, but the file has 20"));
}

TEST(SafetensorsFile, RefusesHostileLengths) {
  for (const std::uint64_t length :
       {std::uint64_t{kTwo.size()} + 100, std::uint64_t{1} << 40,
        std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    EXPECT_THAT(refusal(file_bytes(kTwo, 19, length)),
                HasSubstr("the header is said to have " +
                          std::to_string(length) + " bytes"));
  }
  refusal(file_bytes(kTwo, 19, 0));
}

struct Bad {
  std::string header;
  std::size_t data;
  std::string says;
};

class HostileHeader : public ::testing::TestWithParam<Bad> {};

TEST_P(HostileHeader, IsRefusedByName) {
  EXPECT_THAT(refusal(file_bytes(GetParam().header, GetParam().data)),
              HasSubstr(GetParam().says));
}

std::string one(const std::string& dtype, const std::string& shape,
                const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}}";
}

std::string two(const std::string& a, const std::string& b) {
  return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
         R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
}

INSTANTIATE_TEST_SUITE_P(
    Rules, HostileHeader,
    ::testing::Values(
        Bad{"[]", 0, "does not begin with '{'"},
        Bad{" {}", 0, "does not begin with '{'"},
        Bad{"{}", 1, "the file has 1"}, Bad{R"({"w":)", 0, "not valid JSON"},
        Bad{"{\"w\xff\":1}", 0, "not valid JSON"},
        Bad{"{} {}", 0, "not valid JSON"},
        Bad{R"({"w":7})", 0, "tensor 'w' is 7; it takes an object"},
        Bad{R"({"w":{"dtype":"F32","shape":[1]}})", 4, "lacks 'data_offsets'"},
        Bad{R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":0}})", 1,
            "unknown key 'x'"},
        Bad{one(R"("F31")", "[1]", "[0,4]"), 4, "dtype is \"F31\""},
        Bad{one("32", "[1]", "[0,4]"), 4, "dtype is 32; it takes a string"},
        Bad{one(R"("F32")", "[1.0]", "[0,4]"), 4, "shape is [1.0]"},
        Bad{one(R"("F32")", "[-1]", "[0,4]"), 4, "shape is [-1]"},
        Bad{one(R"("F32")", "1", "[0,4]"), 4, "shape is 1; it takes a list"},
        Bad{one(R"("F32")", "[9223372036854775808]", "[0,4]"), 4,
            "it takes integers from 0 to 2^63 - 1"},
        Bad{one(R"("F32")", "[18446744073709551617]", "[0,4]"), 4,
            "it takes integers from 0 to 2^63 - 1"},
        Bad{one(R"("U8")", "[4294967296,4294967296]", "[0,0]"), 0,
            "has more bytes than 2^63 - 1"},
        Bad{one(R"("F32")", "[4611686018427387905]", "[0,4]"), 4,
            "has more bytes than 2^63 - 1"},
        Bad{one(R"("F32")", "[2]", "[0,4]"), 4,
            "span 4 bytes, but F32 of "
            "shape [2] has 8"},
        Bad{one(R"("F32")", "[1]", "[4,0]"), 4, "data_offsets are [4, 0]"},
        Bad{one(R"("F32")", "[1]", "[0,2,4]"), 4, "data_offsets are"},
        Bad{one(R"("F32")", "[1]", "[0,4]"), 3, "cut short"},
        Bad{one(R"("U8")", "[1]", "[9223372036854775806,9223372036854775807]"),
            1, "cut short"},
        Bad{two("[0,4]", "[3,7]"), 7, "no overlap"},
        Bad{two("[0,4]", "[5,9]"), 9, "no gap"},
        Bad{two("[1,5]", "[5,9]"), 9, "no gap"},
        Bad{two("[0,4]", "[0,4]"), 4, "no overlap"},
        Bad{R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
            R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
            1, "the name 'w' is given twice"},
        Bad{R"({"w":{"dtype":"U8","dtype":"I8","shape":[1],)"
            R"("data_offsets":[0,1]}})",
            1, "the name 'dtype' is given twice"},
        Bad{R"({"__metadata__":{"a":1}})", 0, "value of 'a' is no string"},
        Bad{R"({"__metadata__":[]})", 0, "__metadata__ is no object"},
        Bad{R"({"w":)" + std::string(100000, '[') + "}", 0, "nested deeper"},
        Bad{"{\"" + std::string(100000, 'n') + "\":1}", 0, "..."}));

TEST(SafetensorsFile, ReadsBoxes) {
  const TempFolder folder;
  std::mt19937_64 random(4);
  const Shape shape = {5, 4, 3};
  const auto data = testing::random_bytes(5 * 4 * 3 * 2, random);
  const std::vector<TensorSpec> specs = {{"x", DType::kI16, shape}};
  const auto path = folder.path() / "x.safetensors";
  write_safetensors(system_files(), path, specs, {},
                    [&](std::size_t, const Sink& sink) { sink(data); });
  const SafetensorsFile file(path);
  for (int round = 0; round < 200; ++round) {
    const Slice box = testing::random_box(shape, random);
    const auto expected = testing::naive_box(data, shape, box, 2);
    std::vector<std::byte> got(expected.size());
    file.read(file.at("x"), box, got);
    EXPECT_EQ(got, expected);
  }
  std::vector<std::byte> small(2);
  message_of(ErrorKind::kInternal,
             [&] { file.read(file.at("x"), whole(shape), small); });
}

TEST(SafetensorsFile, SaysWhatItCannotOpen) {
  const TempFolder folder;
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [&] { SafetensorsFile f(folder.path() / "none"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(
      message_of(ErrorKind::kUsage, [&] { SafetensorsFile f(folder.path()); }),
      HasSubstr("not a plain file"));
}

}  // namespace
}  // namespace merak::checkpoint
