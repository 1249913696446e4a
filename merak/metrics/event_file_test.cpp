#include "merak/metrics/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <bit>
#include <map>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/file.h"

namespace merak::metrics {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A reader written from the format's page, not from the writer.
std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value * 256 + static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::vector<std::string> records(const std::string& text) {
  std::vector<std::string> result;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto size = little_endian(rest.substr(0, 8));
    EXPECT_EQ(little_endian(rest.substr(8, 4)),
              masked_crc32c(rest.substr(0, 8)));
    const std::string_view bytes = rest.substr(12, size);
    EXPECT_EQ(little_endian(rest.substr(12 + size, 4)), masked_crc32c(bytes));
    result.emplace_back(bytes);
    rest.remove_prefix(16 + size);
  }
  return result;
}

struct Field {
  std::uint64_t number;
  std::uint64_t value = 0;  // of a varint or of fixed bytes
  std::string bytes{};
};

std::uint64_t take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.at(0));
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

std::vector<Field> fields(std::string_view rest) {
  std::vector<Field> result;
  while (!rest.empty()) {
    const std::uint64_t tag = take_varint(rest);
    Field field{tag / 8};
    if (tag % 8 == 0) {
      field.value = take_varint(rest);
    } else {
      std::size_t size = 8;
      if (tag % 8 == 2) size = take_varint(rest);
      if (tag % 8 == 5) size = 4;
      field.bytes = rest.substr(0, size);
      if (tag % 8 != 2) field.value = little_endian(field.bytes);
      rest.remove_prefix(size);
    }
    result.push_back(field);
  }
  return result;
}

std::string bytes_of(const std::vector<Field>& list, std::uint64_t number) {
  for (const Field& field : list) {
    if (field.number == number) return field.bytes;
  }
  return "none";
}

std::map<std::string, float> scalars_of(const std::string& event) {
  std::map<std::string, float> result;
  for (const Field& value : fields(bytes_of(fields(event), 5))) {
    const auto parts = fields(value.bytes);
    for (const Field& part : parts) {
      if (part.number != 2) continue;
      result[bytes_of(parts, 1)] =
          std::bit_cast<float>(static_cast<std::uint32_t>(part.value));
    }
  }
  return result;
}

class EventFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "merak-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST(Crc32c, VectorsOfRfc3720) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(TfRecord, IsTheOneOfTensorFlow) {
  // Bytes that tensorboard 2.21 makes of Event(wall_time=1.0,
  // file_version="brain.Event:2").
  const std::string event =
      std::string("\x09\x00\x00\x00\x00\x00\x00\xf0\x3f\x1a\x0d", 11) +
      "brain.Event:2";
  EXPECT_EQ(tf_record(event), std::string("\x18\0\0\0\0\0\0\0", 8) +
                                  "\xa3\x7f\x4b\x22" + event +
                                  "\x86\xbf\x57\x7a");
}

TEST_F(EventFileTest, StartsWithVersionAndSession) {
  EventFile file(folder_ / "tensorboard", 100);
  const auto events = records(read_file(file.path()));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(bytes_of(fields(events[0]), 3), "brain.Event:2");
  const auto session = fields(events[1]);
  EXPECT_EQ(session[1].number, 2u);
  EXPECT_EQ(session[1].value, 100u);
  const auto log = fields(bytes_of(session, 7));
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].value, 1u);  // START
}

TEST_F(EventFileTest, ScalarsOfAStep) {
  EventFile file(folder_, 0);
  StepRecord record;
  record.step = 300;  // two bytes as a varint
  record.loss = 2.5;
  record.lr = 0.125;
  record.peak_bytes = {1024, 2048};
  file.write(record);
  file.write(EvalRecord{300, 3.5, 10});
  const auto events = records(read_file(file.path()));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(fields(events[2])[1].value, 300u);
  const auto scalars = scalars_of(events[2]);
  EXPECT_EQ(scalars.size(), 9u);
  EXPECT_EQ(scalars.at("train/loss"), 2.5f);
  EXPECT_EQ(scalars.at("train/lr"), 0.125f);
  EXPECT_EQ(scalars.at("memory/peak_bytes_rank_1"), 2048.0f);
  EXPECT_EQ(scalars_of(events[3]).at("validation/loss"), 3.5f);
}

TEST_F(EventFileTest, TwoFilesAtOnceHaveTwoNames) {
  EventFile first(folder_, 0);
  EventFile second(folder_, 5);
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(records(read_file(first.path())).size(), 2u);
}

TEST_F(EventFileTest, AFolderThatCannotBeMadeIsARuntimeError) {
  write_file_atomic(folder_ / "f", "");
  try {
    EventFile file(folder_ / "f" / "tensorboard", 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_THAT(error.what(), HasSubstr("tensorboard"));
  }
}

}  // namespace
}  // namespace merak::metrics
