// Saving by ranks and rank 0: what they refuse, keep and remove. What happens
// when the disk goes wrong is in crash_test.cpp.

#include "merak/checkpoint/publish.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/checkpoint/async_saver.h"
#include "merak/checkpoint/checkpoint.h"
#include "merak/checkpoint/safetensors/testing.h"
#include "merak/checkpoint/step_folder.h"
#include "merak/checkpoint/testing/faulty_files.h"
#include "merak/checkpoint/testing/memory_files.h"
#include "merak/checkpoint/testing/saves.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Fault;
using testing::FaultyFiles;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryFiles;
using testing::message_of;
using testing::RankState;
using testing::Save;
using ::testing::SizeIs;
using testing::TempFolder;

const fs::path kRun = "/run";
const fs::path kCheckpoints = kRun / kCheckpointsFolder;

class PublishTest : public ::testing::Test {
 protected:
  PublishTest() { disk_.make_folder(kRun); }

  void save(const Save& what) {
    testing::save(disk_, kRun, what, [this](const std::string& line) {
      warnings_.push_back(line);
    });
  }
  std::string write(const Save& what, int rank) {
    const RankState state(what.version, rank, what.ranks);
    return write_shards(disk_, {kCheckpoints, what.step, rank},
                        state.tensors());
  }
  fs::path publish_all(const Save& what,
                       const std::vector<std::string>& manifests) {
    return publish(
        disk_, testing::publication(kRun, what), manifests,
        [this](const std::string& line) { warnings_.push_back(line); });
  }
  std::string failure(ErrorKind kind, const Save& what,
                      const std::vector<std::string>& manifests) {
    return message_of(kind, [&] { publish_all(what, manifests); });
  }
  std::vector<std::string> files_of(std::int64_t step) {
    return disk_.list(kCheckpoints / step_folder_name(step));
  }
  void put(const fs::path& path) { disk_.create(path, 0)->close(); }
  // The checkpoint holds that save.
  void expect_holds(const Save& what) {
    const TempFolder folder;
    disk_.copy_to(folder.path());
    testing::expect_holds(folder.path() / "run" / kCheckpointsFolder /
                              step_folder_name(what.step),
                          what);
  }

  MemoryFiles disk_;
  std::vector<std::string> warnings_;
};

TEST_F(PublishTest, KeepsTheNewestInTheOrderOfTime) {
  for (const std::int64_t step : {10, 20, 30}) save({.step = step, .keep = 2});
  EXPECT_THAT(disk_.list(kCheckpoints),
              ElementsAre("step-00000020", "step-00000030"));
  save({.step = 5, .keep = 2});  // the run started over
  EXPECT_THAT(disk_.list(kCheckpoints),
              ElementsAre("step-00000005", "step-00000030"));
  save({.step = 7, .keep = 1});
  EXPECT_THAT(disk_.list(kCheckpoints), ElementsAre("step-00000007"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(PublishTest, ADamagedCheckpointIsTheFirstToGo) {
  for (const std::int64_t step : {10, 20}) save({.step = step, .keep = 2});
  put(kCheckpoints / "step-00000020" / kIndexFile);
  save({.step = 30, .keep = 2});
  EXPECT_THAT(disk_.list(kCheckpoints),
              ElementsAre("step-00000010", "step-00000030"));
}

TEST_F(PublishTest, FilesOfAUserStayAndAreToldOf) {
  save({.step = 10});
  const std::vector<std::string> before = files_of(10);
  put(kCheckpoints / "step-00000010" / "notes.txt");
  disk_.make_folder(kCheckpoints / "step-00000011");
  put(kCheckpoints / "step-00000011" / "more.txt");
  disk_.make_folder(kCheckpoints / "best");
  put(kCheckpoints / "best" / "weights-r00000.safetensors");
  save({.step = 20, .version = 1});
  EXPECT_THAT(files_of(10), SizeIs(before.size() + 1));
  EXPECT_THAT(files_of(11), ElementsAre("more.txt"));
  EXPECT_THAT(disk_.list(kCheckpoints / "best"), SizeIs(1));
  EXPECT_THAT(
      warnings_,
      ElementsAre(HasSubstr("step-00000011 is not removed: it holds more.txt"),
                  HasSubstr("step-00000010 is not removed: it holds "
                            "notes.txt")));
  expect_holds({.step = 20, .version = 1});
}

TEST_F(PublishTest, AFailedRankIsNamedAndNobodysFilesStay) {
  const Save what{.step = 10};
  const std::string wrote = write(what, 0);
  EXPECT_THAT(files_of(10), SizeIs(2));
  const SaveTarget target{kCheckpoints, 10, 1};
  EXPECT_EQ(failure(ErrorKind::kRuntime, what,
                    {failed_manifest(target, "the disk is full"), wrote}),
            "the checkpoint of step 10 is not saved: rank 1: the disk is full");
  EXPECT_THAT(files_of(10), IsEmpty());
}

TEST_F(PublishTest, AFileThatRankZeroDoesNotSeeIsNamed) {
  const Save what{.step = 10, .ranks = 1};
  const std::string manifest = write(what, 0);
  const fs::path path =
      kCheckpoints / "step-00000010" / "weights-r00000.safetensors";
  put(path);
  EXPECT_THAT(failure(ErrorKind::kRuntime, what, {manifest}),
              AllOf(HasSubstr(path.string() + " has 0 bytes here, where a "
                                              "rank wrote"),
                    HasSubstr("a disk that all machines share")));
  const std::string again = write(what, 0);
  disk_.remove_file(path);
  EXPECT_THAT(failure(ErrorKind::kRuntime, what, {again}),
              HasSubstr(path.string() + " is missing here"));
}

TEST_F(PublishTest, ManifestsThatContradictEachOtherAreOurMistake) {
  const Save what{.step = 10};
  const std::string first = write(what, 0);
  const std::string second = write(what, 1);
  EXPECT_THAT(failure(ErrorKind::kInternal, what, {first, first}),
              HasSubstr("rank 0"));
  EXPECT_THAT(failure(ErrorKind::kInternal, {.step = 20}, {first, second}),
              HasSubstr("step 10, not 20"));
  EXPECT_THAT(failure(ErrorKind::kInternal, what, {first}),
              HasSubstr("are missing in what the ranks wrote"));
  EXPECT_THAT(failure(ErrorKind::kInternal, what,
                      {first, write({.step = 10, .ranks = 3}, 1)}),
              HasSubstr("are"));
  const std::vector<std::byte> bytes(8);
  const ShardTensor other{
      {"weight", "bias", DType::kF64, {1}}, {{0}, {1}}, bytes};
  const std::string wrong = write_shards(
      disk_, {kCheckpoints, 10, 2}, std::span<const ShardTensor>(&other, 1));
  EXPECT_THAT(failure(ErrorKind::kInternal, what, {first, second, wrong}),
              HasSubstr("tensor 'bias' is f64 of shape [1] to rank 2"));
}

TEST_F(PublishTest, AManifestIsReadAsStrictlyAsAFile) {
  const Save what{.step = 10, .ranks = 1};
  const std::string manifest = write(what, 0);
  EXPECT_EQ(format_manifest(parse_manifest(manifest)), manifest);
  for (const std::string& bad :
       {std::string(), std::string("{}"), manifest.substr(1),
        manifest.substr(0, manifest.size() - 1)}) {
    EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { parse_manifest(bad); }),
                HasSubstr("a rank's manifest"));
  }
  const std::string failed =
      failed_manifest({kCheckpoints, 10, 3}, "path \xff\n\"is\" broken");
  EXPECT_THAT(parse_manifest(failed).failure, HasSubstr("\n\"is\" broken"));
  EXPECT_EQ(parse_manifest(failed).rank, 3);
}

TEST_F(PublishTest, ShardsThatDoNotFitAreOurMistakeAndLeaveNothing) {
  const std::vector<std::byte> bytes(8);
  const TensorInfo info{"weight", "w", DType::kF32, {2}};
  const ShardTensor good{info, {{0}, {2}}, bytes};
  const std::vector<std::vector<ShardTensor>> cases = {
      {good, good},
      {{info, {{1}, {2}}, bytes}},
      {{info, {{0}, {1}}, bytes}},
      {{{"", "w", DType::kF32, {2}}, {{0}, {2}}, bytes}},
      {{{"a/b", "w", DType::kF32, {2}}, {{0}, {2}}, bytes}},
      {good, {{"weight", "w", DType::kI32, {2}}, {{0}, {2}}, bytes}}};
  for (const std::vector<ShardTensor>& tensors : cases) {
    message_of(ErrorKind::kInternal,
               [&] { write_shards(disk_, {kCheckpoints, 1, 0}, tensors); });
    EXPECT_THAT(files_of(1), IsEmpty());
  }
}

// The caller tries once more with what it has, and the disk is full again.
TEST_F(PublishTest, ASecondTryThatFailsLeavesWhatTheFirstPublished) {
  const Save what{.step = 10, .version = 4, .ranks = 1};
  const std::string manifest = write(what, 0);
  publish_all(what, {manifest});
  FaultyFiles full(disk_, Fault::kFull);
  message_of(ErrorKind::kRuntime, [&] {
    publish(full, testing::publication(kRun, what),
            std::vector<std::string>{manifest}, [](const std::string&) {});
  });
  expect_holds(what);
}

// Were it published, the old ones would go, and nothing be left to resume.
TEST_F(PublishTest, WhatCouldNotBeReadBackIsNotPublished) {
  const Save old{.step = 10, .version = 4};
  save(old);
  const Save what{.step = 20, .ranks = 1};
  Publication deep = testing::publication(kRun, what);
  deep.model = fmt::format(R"({{"a":{:[>100}{:]>100}}})", "", "");
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [&] {
                           publish(disk_, deep,
                                   std::vector<std::string>{write(what, 0)},
                                   [](const std::string&) {});
                         }),
              HasSubstr("checkpoint.json: values nested deeper than 64"));
  EXPECT_THAT(files_of(20), IsEmpty());
  expect_holds(old);
}

class AsyncSaverTest : public PublishTest {
 protected:
  std::vector<std::string> lost_;
  AsyncSaver saver_{[this](const std::string& line) { lost_.push_back(line); }};
  SaveTarget target_{kCheckpoints, 10, 0};
};

TEST_F(AsyncSaverTest, WritesWhatWasThereWhenItWasStarted) {
  std::vector<std::byte> bytes(4, std::byte{1});
  const ShardTensor tensor{
      {"weight", "w", DType::kI32, {1}}, {{0}, {1}}, bytes};
  saver_.start(disk_, target_, {&tensor, 1});
  bytes.assign(4, std::byte{9});
  EXPECT_TRUE(saver_.is_pending());
  const std::string manifest = saver_.wait();
  EXPECT_FALSE(saver_.is_pending());
  EXPECT_EQ(saver_.wait(), "");
  const std::string file =
      disk_.read(kCheckpoints / "step-00000010" / "weights-r00000.safetensors");
  EXPECT_TRUE(file.ends_with(std::string(4, '\1')));
  EXPECT_EQ(parse_manifest(manifest).contents.files[0].bytes, file.size());
}

TEST_F(AsyncSaverTest, AFailureIsThrownOnceByWhoeverAsksNext) {
  FaultyFiles full(disk_, Fault::kFull);
  const RankState state(1, 0, 1);
  saver_.start(full, target_, state.tensors());
  EXPECT_THAT(message_of(ErrorKind::kRuntime, [&] { saver_.wait(); }),
              HasSubstr("No space left on device"));
  saver_.start(full, target_, state.tensors());
  message_of(ErrorKind::kRuntime,
             [&] { saver_.start(disk_, target_, state.tensors()); });
  EXPECT_FALSE(saver_.is_pending());  // nothing was started
  EXPECT_THAT(files_of(10), IsEmpty());
  saver_.start(disk_, target_, state.tensors());
  EXPECT_FALSE(saver_.wait().empty());
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(AsyncSaverTest, WhatFollowsRunsThereAndItsFailureIsTheSaves) {
  const Save what{.step = 10, .version = 3, .ranks = 1};
  const RankState state(3, 0, 1);
  saver_.start(
      disk_, target_, state.tensors(),
      [&](const std::string& manifest) { publish_all(what, {manifest}); });
  EXPECT_FALSE(saver_.wait().empty());
  expect_holds(what);
  saver_.start(disk_, {kCheckpoints, 20, 0}, state.tensors(),
               [](const std::string&) { fail_runtime("no peers"); });
  EXPECT_EQ(message_of(ErrorKind::kRuntime, [&] { saver_.wait(); }),
            "no peers");
}

TEST_F(AsyncSaverTest, AFailureThatNobodyFetchedIsTold) {
  FaultyFiles full(disk_, Fault::kFull);
  const RankState state(1, 0, 1);
  {
    AsyncSaver saver(
        [this](const std::string& line) { lost_.push_back(line); });
    saver.start(full, target_, state.tensors());
  }
  EXPECT_THAT(lost_, ElementsAre(HasSubstr("No space left on device")));
}

}  // namespace
}  // namespace merak::checkpoint
