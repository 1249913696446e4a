#include "merak/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "merak/base/error.h"

namespace merak {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "merak-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      result.push_back(entry.path().filename().string());
    }
    return result;
  }

  fs::path folder_;
};

std::string message_of(auto&& function, ErrorKind kind) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST_F(FileTest, RoundTripOfAnyBytes) {
  std::string bytes(200'001, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 7);
  }
  write_file_atomic(folder_ / "a", bytes);
  EXPECT_EQ(read_file(folder_ / "a"), bytes);
  write_file_atomic(folder_ / "a", "");
  EXPECT_EQ(read_file(folder_ / "a"), "");
  EXPECT_THAT(names(), ::testing::ElementsAre("a"));
}

TEST_F(FileTest, ReadErrorsNameThePathAndTheReason) {
  EXPECT_THAT(
      message_of([&] { read_file(folder_ / "none"); }, ErrorKind::kUsage),
      HasSubstr("none: No such file"));
  EXPECT_THAT(message_of([&] { read_file(folder_); }, ErrorKind::kUsage),
              HasSubstr("it is a folder"));
}

TEST_F(FileTest, AFailedWriteKeepsTheOldFileAndLeavesNothing) {
  // A folder in the file's place: the rename at the end must fail.
  fs::create_directories(folder_ / "a" / "b");
  EXPECT_THAT(message_of([&] { write_file_atomic(folder_ / "a", "x"); },
                         ErrorKind::kRuntime),
              HasSubstr("cannot write"));
  EXPECT_THAT(names(), ::testing::ElementsAre("a"));
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b"));
}

TEST_F(FileTest, WritingIntoAMissingFolderFails) {
  EXPECT_THAT(message_of([&] { write_file_atomic(folder_ / "no" / "a", "x"); },
                         ErrorKind::kRuntime),
              HasSubstr("No such file"));
}

TEST_F(FileTest, AFullDiskIsReported) {
  const int fd = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(fd, 0);
  EXPECT_THAT(
      message_of([&] { write_all(fd, "x", "metrics"); }, ErrorKind::kRuntime),
      HasSubstr("cannot write metrics: No space left"));
  ::close(fd);
}

TEST_F(FileTest, MakeFolder) {
  make_folder(folder_ / "x" / "y");
  make_folder(folder_ / "x" / "y");
  EXPECT_TRUE(fs::is_directory(folder_ / "x" / "y"));
  write_file_atomic(folder_ / "f", "");
  EXPECT_THAT(message_of([&] { make_folder(folder_ / "f" / "y"); },
                         ErrorKind::kRuntime),
              HasSubstr("cannot make the folder"));
}

}  // namespace
}  // namespace merak
