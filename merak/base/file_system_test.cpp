#include "merak/base/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "merak/base/error.h"
#include "merak/base/file.h"

namespace merak {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "merak-fs-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  FileSystem& files_ = system_files();
};

template <typename F>
std::string runtime_error_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST_F(FileSystemTest, AtomicFileAppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "a";
  {
    AtomicFile file(files_, path, 3);
    file.append("abc");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  {
    AtomicFile file(files_, path, 3);
    file.append("ab");
    file.append("c");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "abc");
  EXPECT_THAT(files_.list(folder_), ElementsAre("a"));
  EXPECT_EQ(files_.file_size(path), 3u);
}

TEST_F(FileSystemTest, MakesFoldersAllTheWayDown) {
  make_durable_folder(files_, folder_ / "a" / "b" / "c" / "");
  EXPECT_TRUE(files_.is_folder(folder_ / "a" / "b" / "c"));
  make_durable_folder(files_, folder_ / "a" / "b");  // there already
  files_.remove_folder(folder_ / "a" / "b" / "c");
  EXPECT_THAT(files_.list(folder_ / "a" / "b"), IsEmpty());
}

TEST_F(FileSystemTest, TellsFilesFromFolders) {
  EXPECT_THAT(files_.list(folder_ / "none"), IsEmpty());
  EXPECT_EQ(files_.file_size(folder_), std::nullopt);
  EXPECT_FALSE(files_.is_folder(folder_ / "none"));
  files_.create(folder_ / "z", 0)->close();
  files_.create(folder_ / "b", 0)->close();
  EXPECT_THAT(files_.list(folder_), ElementsAre("b", "z"));
  EXPECT_FALSE(files_.is_folder(folder_ / "b"));
}

// An absence is an answer; that the system does not say is none.
TEST_F(FileSystemTest, WhatCannotBeLookedAtIsNotMissing) {
  const fs::path loop = folder_ / "loop";
  fs::create_symlink(loop, loop);
  EXPECT_THROW(files_.file_size(loop), Error);
  EXPECT_THROW(files_.is_folder(loop / "a"), Error);
  EXPECT_THROW(path_exists(loop), Error);
  EXPECT_FALSE(path_exists(folder_ / "none"));
  files_.create(folder_ / "file", 0)->close();
  EXPECT_EQ(files_.file_size(folder_ / "file" / "below"), std::nullopt);
  EXPECT_TRUE(path_is_file(folder_ / "file"));
  EXPECT_FALSE(path_is_folder(folder_ / "file"));
  EXPECT_TRUE(path_is_folder(folder_));
}

TEST_F(FileSystemTest, ErrorsNamePathAndReason) {
  const fs::path none = folder_ / "none";
  EXPECT_THAT(runtime_error_of([&] { files_.create(none / "x", 70); }),
              HasSubstr("x: No such file or directory; it needs 70 bytes"));
  EXPECT_THAT(runtime_error_of([&] { files_.remove_file(none); }),
              HasSubstr("cannot remove " + none.string()));
  EXPECT_THAT(runtime_error_of([&] { files_.rename(none, folder_); }),
              HasSubstr("cannot rename " + none.string()));
  files_.create(none, 0)->close();
  EXPECT_THAT(runtime_error_of([&] { files_.make_folder(none); }),
              HasSubstr("cannot make the folder " + none.string()));
  EXPECT_THAT(runtime_error_of([&] { files_.remove_folder(folder_); }),
              HasSubstr("not empty"));
}

TEST_F(FileSystemTest, AFullDiskIsAnErrorThatSaysHowMuchWasWanted) {
  const auto file = files_.create("/dev/full", 1000);
  EXPECT_THAT(runtime_error_of([&] { file->append("x"); }),
              HasSubstr("cannot write /dev/full: No space left on device; it "
                        "needs 1000 bytes, 0 were written"));
}

}  // namespace
}  // namespace merak
