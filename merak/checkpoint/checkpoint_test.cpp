#include "merak/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "merak/base/file.h"
#include "merak/checkpoint/inspect.h"
#include "merak/checkpoint/safetensors/safetensors_writer.h"
#include "merak/checkpoint/safetensors/testing.h"
#include "merak/checkpoint/step_folder.h"
#include "merak/checkpoint/testing/saves.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using testing::Save;
using testing::TempFolder;
using ::testing::UnorderedElementsAreArray;

void fail_to_warn(const std::string& line) { ADD_FAILURE() << line; }

// A run with checkpoints on the system's disk.
class CheckpointTest : public ::testing::Test {
 protected:
  fs::path save(const Save& what) const {
    testing::save(system_files(), run(), what, fail_to_warn);
    return folder_of(what.step);
  }
  fs::path run() const { return folder_.path(); }
  fs::path folder_of(std::int64_t step) const {
    return run() / kCheckpointsFolder / step_folder_name(step);
  }
  static void replace(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::optional<fs::path> newest() {
    skipped_.clear();
    return find_newest_complete(
        run(), [&](const std::string& line) { skipped_.push_back(line); });
  }

  TempFolder folder_;
  std::vector<std::string> skipped_;
};

std::string refusal(const fs::path& folder, Depth depth = Depth::kData) {
  return message_of(ErrorKind::kUsage, [&] { open_checkpoint(folder, depth); });
}

TEST_F(CheckpointTest, AnyLayoutReadsWhatAnyOtherWrote) {
  std::mt19937_64 random(3);
  for (const int ranks : {1, 2, 3, 7}) {
    const Save what{.step = ranks, .version = 5, .keep = 9, .ranks = ranks};
    const Checkpoint saved = open_checkpoint(save(what));
    for (const auto& [info, bytes] : testing::make_state(5)) {
      for (int i = 0; i < 50; ++i) {
        const Slice box = testing::random_box(info.shape, random);
        const auto expected =
            testing::naive_box(bytes, info.shape, box, size_of(info.dtype));
        std::vector<std::byte> read(expected.size());
        saved.read(info, box, read);
        EXPECT_EQ(read, expected) << text(info) << text(box);
      }
    }
  }
}

// Cuts along every dimension, uneven, some empty, dealt to ranks at random.
TEST_F(CheckpointTest, PartsMayBeAnyBoxes) {
  std::mt19937_64 random(11);
  const TensorInfo info{"weight", "w", DType::kI16, {5, 4, 3}};
  const auto bytes = testing::random_bytes(120, random);
  for (int step = 0; step < 20; ++step) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::vector<ShardTensor>> of_rank(3);
    for (const Slice& box : testing::random_cuts(info.shape, random)) {
      memory.push_back(testing::naive_box(bytes, info.shape, box, 2));
      of_rank[static_cast<std::size_t>(testing::draw(0, 2, random))].push_back(
          {info, box, memory.back()});
    }
    std::vector<std::string> manifests;
    for (int rank = 0; rank < 3; ++rank) {
      // Rank 2 writes first: the order does not matter.
      manifests.push_back(write_shards(
          system_files(), {run() / kCheckpointsFolder, step, 2 - rank},
          of_rank[static_cast<std::size_t>(rank)]));
    }
    const Checkpoint saved = open_checkpoint(
        publish(system_files(),
                {.checkpoints = run() / kCheckpointsFolder, .step = step},
                manifests, fail_to_warn));
    const Slice box = testing::random_box(info.shape, random);
    const auto expected = testing::naive_box(bytes, info.shape, box, 2);
    std::vector<std::byte> read(expected.size());
    saved.read(info, box, read);
    EXPECT_EQ(read, expected);
  }
}

TEST_F(CheckpointTest, TellsWhatItHolds) {
  const Save what{.step = 40, .version = 2};
  const Checkpoint saved = open_checkpoint(save(what));
  EXPECT_EQ(saved.folder(), folder_of(40));
  EXPECT_EQ(saved.step(), 40);
  EXPECT_EQ(saved.layout(), R"({"data":2})");
  EXPECT_EQ(saved.model(), R"({"model_type":"gpt2"})");
  EXPECT_EQ(saved.trainer(), R"({"version":2})");
  std::vector<std::string> names;
  for (const TensorEntry& tensor : saved.tensors()) {
    names.push_back(text(tensor.info));
  }
  EXPECT_THAT(names,
              ElementsAre("exp_avg of 'wte.weight'", "step of 'wte.weight'",
                          "tensor 'bias'", "tensor 'mask'", "tensor 'none'",
                          "tensor 'wte.weight'"));
  EXPECT_EQ(saved.find("exp_avg", "wte.weight")->dtype, DType::kF64);
  EXPECT_EQ(saved.find("exp_avg", "bias"), nullptr);
}

TEST_F(CheckpointTest, KeepsItsFilesWhenTheyAreRemoved) {
  const Checkpoint saved = open_checkpoint(save({.step = 1, .version = 1}));
  fs::remove_all(folder_of(1));
  const testing::WholeTensor wanted = testing::make_state(1)[0];
  std::vector<std::byte> read(wanted.bytes.size());
  saved.read(wanted.info, whole(wanted.info.shape), read);
  EXPECT_EQ(read, wanted.bytes);
}

TEST_F(CheckpointTest, DifferencesFromTheModelAreNamed) {
  const Checkpoint saved = open_checkpoint(save({.step = 1, .version = 1}));
  std::vector<TensorInfo> wanted;
  for (const auto& tensor : testing::make_state(1)) {
    wanted.push_back(tensor.info);
  }
  saved.require(wanted);
  wanted[0].shape = {5, 4};
  wanted[1].dtype = DType::kBF16;
  wanted[4].name = "wte.weigth";
  EXPECT_THAT(
      message_of(ErrorKind::kUsage, [&] { saved.require(wanted); }),
      AllOf(HasSubstr(folder_of(1).string() + " does not fit"),
            HasSubstr("has tensor 'wte.weight' as F32 of shape [5, 3], but "
                      "here it is F32 of shape [5, 4]"),
            HasSubstr("has tensor 'bias' as F16 of shape [4], but here it is "
                      "BF16 of shape [4]"),
            HasSubstr("has no exp_avg of 'wte.weigth' (the nearest is "
                      "'wte.weight')"),
            HasSubstr("has exp_avg of 'wte.weight', which is unknown here")));
  std::vector<std::byte> memory(60);
  EXPECT_THAT(
      message_of(ErrorKind::kUsage,
                 [&] { saved.read(wanted[0], {{0, 0}, {5, 3}}, memory); }),
      HasSubstr("as F32 of shape [5, 3], but here"));
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [&] { saved.require(std::vector<TensorInfo>(9)); }),
              HasSubstr("and 10 differences more"));
}

TEST_F(CheckpointTest, AFolderThatIsNoneIsNamed) {
  save({.step = 1, .version = 1});
  EXPECT_THAT(refusal(run() / "none"), HasSubstr("there is no checkpoint"));
  EXPECT_THAT(refusal(run()), HasSubstr("is a run folder, not a checkpoint"));
  EXPECT_THAT(refusal(run() / kCheckpointsFolder),
              HasSubstr("is no complete checkpoint: it has no "));
  EXPECT_THAT(refusal(folder_of(1) / kIndexFile),
              HasSubstr("checkpoint.json is no folder"));
}

TEST_F(CheckpointTest, APathThatCannotBeLookedAtIsAUsageErrorToo) {
  fs::create_directories(folder_of(1));
  fs::create_symlink(kIndexFile, folder_of(1) / kIndexFile);  // to itself
  EXPECT_THAT(refusal(folder_of(1)),
              AllOf(HasSubstr("checkpoint.json"), HasSubstr("symbolic links")));
  EXPECT_THAT(refusal(run() / std::string(300, 'x')),
              HasSubstr("File name too long"));
  EXPECT_EQ(newest(), std::nullopt);
  EXPECT_THAT(skipped_, ElementsAre(HasSubstr("symbolic links")));
}

TEST_F(CheckpointTest, ATruncatedShardIsToldByItsNameAndWhatToDo) {
  const fs::path path =
      save({.step = 1, .version = 1}) / "weights-r00001.safetensors";
  const std::string bytes = read_file(path);
  for (const std::size_t left :
       {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    replace(path, bytes.substr(0, left));
    EXPECT_THAT(
        refusal(folder_of(1)),
        AllOf(HasSubstr(folder_of(1).string() + " is not sound"),
              HasSubstr(fmt::format("{} is cut short: it has {} of {} bytes",
                                    path.string(), left, bytes.size())),
              HasSubstr("copy it again")));
  }
  replace(path, bytes + "x");
  EXPECT_THAT(
      refusal(folder_of(1)),
      HasSubstr(fmt::format("{} has {} bytes; {} were written", path.string(),
                            bytes.size() + 1, bytes.size())));
}

TEST_F(CheckpointTest, AMissingFileIsNamedAndTheOthersCounted) {
  save({.step = 1, .version = 1});
  fs::remove(folder_of(1) / "optimizer-r00000.safetensors");
  EXPECT_THAT(refusal(folder_of(1)),
              AllOf(HasSubstr("optimizer-r00000.safetensors: No such file"),
                    Not(HasSubstr("more"))));
  fs::remove(folder_of(1) / "weights-r00000.safetensors");
  EXPECT_THAT(refusal(folder_of(1)),
              HasSubstr("(1 more; `merak inspect` lists them)"));
  EXPECT_EQ(verify(folder_of(1)).problems.size(), 2u);
}

// Every byte of a shard means something and is checked; the header's also
// where data is left out.
TEST_F(CheckpointTest, EveryDamagedByteOfAShardIsFound) {
  const fs::path path =
      save({.step = 1, .version = 1}) / "weights-r00000.safetensors";
  const std::string bytes = read_file(path);
  const std::size_t header = SafetensorsFile(path).header_bytes().size();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    replace(path, damaged);
    EXPECT_THAT(refusal(folder_of(1)), HasSubstr(path.string())) << at;
    if (at < header) {
      EXPECT_THAT(refusal(folder_of(1), Depth::kStructure),
                  HasSubstr(path.string()));
    } else {
      open_checkpoint(folder_of(1), Depth::kStructure);
      EXPECT_THAT(refusal(folder_of(1)),
                  HasSubstr("does not match its checksum"));
    }
  }
}

// An index with right checksums that does not tell what the files hold.
class WrongIndexTest : public CheckpointTest {
 protected:
  // What is said of a checkpoint whose index was changed.
  template <typename F>
  std::string refusal_after(F&& change) {
    save({.step = 1, .version = 1, .ranks = 1});
    const fs::path path = folder_of(1) / kIndexFile;
    Index index = parse_index(read_file(path), path.string());
    change(index.contents);
    replace(path, format_index(index));
    return refusal(folder_of(1), Depth::kStructure);
  }
  static constexpr std::size_t kBias = 2;  // place in contents.tensors
};

TEST_F(WrongIndexTest, APartThatIsNotInTheFile) {
  EXPECT_THAT(refusal_after([](Contents& contents) {
                contents.tensors[kBias].parts[0].key = "bios";
              }),
              HasSubstr("weights-r00000.safetensors has no tensor 'bios'"));
}

TEST_F(WrongIndexTest, APartOfAnotherTypeOrShape) {
  EXPECT_THAT(refusal_after([](Contents& contents) {
                contents.tensors[kBias].info.dtype = DType::kBF16;
              }),
              HasSubstr("weights-r00000.safetensors: 'bias' is F16 of shape "
                        "[4]; checkpoint.json says BF16 of shape [4]"));
  EXPECT_THAT(refusal_after([](Contents& contents) {
                contents.tensors[kBias].info.shape = {2, 2};
                contents.tensors[kBias].parts[0].slice = whole({2, 2});
              }),
              HasSubstr("checkpoint.json says F16 of shape [2, 2]"));
}

TEST_F(WrongIndexTest, AFileThatIsNoSafetensorsFile) {
  const auto name_the_index = [](Contents& contents) {
    contents.files[0].name = kIndexFile;
  };
  EXPECT_THAT(refusal_after(name_the_index), HasSubstr("checkpoint.json has "));
}

TEST_F(CheckpointTest, TheNewestIsTheOneThatWasPublishedLast) {
  EXPECT_EQ(newest(), std::nullopt);
  save({.step = 10, .version = 1, .keep = 9});
  save({.step = 30, .version = 2, .keep = 9});
  save({.step = 20, .version = 3, .keep = 9});  // the run went back to 10
  EXPECT_EQ(newest(), folder_of(20));
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(CheckpointTest, WhatIsNotSoundIsPassedOverAndTold) {
  for (const std::int64_t step : {10, 20, 30, 40, 50}) {
    save({.step = step, .version = 1, .keep = 9});
  }
  fs::remove(folder_of(50) / kIndexFile);
  replace(folder_of(40) / kIndexFile, "{}");
  replace(folder_of(30) / "weights-r00000.safetensors", "short");
  EXPECT_EQ(newest(), folder_of(20));
  EXPECT_THAT(skipped_,
              ElementsAre(AllOf(HasSubstr("00000040"), HasSubstr("damaged")),
                          AllOf(HasSubstr("00000050"),
                                HasSubstr("its save did not finish")),
                          AllOf(HasSubstr("00000030"),
                                HasSubstr("weights-r00000.safetensors"))));
}

TEST_F(CheckpointTest, OtherNamesAreNotLookedAt) {
  save({.step = 10, .version = 1});
  const fs::path checkpoints = run() / kCheckpointsFolder;
  for (const char* name : {"step-20", "step-00000030.deleted", "best", "step-",
                           "step-0000004x", "step--0000001"}) {
    fs::copy(folder_of(10), checkpoints / name);
  }
  EXPECT_EQ(newest(), folder_of(10));
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(CheckpointTest, VerifyTellsAllAndCountsEachFile) {
  const Inspection sound = verify(save({.step = 7, .version = 1}));
  EXPECT_EQ(sound.format, "checkpoint");
  EXPECT_TRUE(sound.problems.empty());
  EXPECT_EQ(sound.parameters, 15 + 4 + 4);
  EXPECT_EQ(sound.tensors.size(), 6u);
  EXPECT_EQ(sound.files, 4u);
  EXPECT_EQ(sound.step, 7);
  EXPECT_EQ(sound.trainer, R"({"version":1})");
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_of(7))) {
    if (entry.path().filename() != kIndexFile) bytes += entry.file_size();
  }
  EXPECT_EQ(sound.bytes, bytes);
  const Inspection none = verify(run() / "none");
  EXPECT_THAT(none.problems, ElementsAre(HasSubstr("there is no checkpoint")));
}

TEST_F(CheckpointTest, DescribeTellsOfSafetensorsFilesAndFolders) {
  const fs::path path = save({.step = 7, .version = 1, .ranks = 1}) /
                        "weights-r00000.safetensors";
  const Inspection file = describe(path);
  EXPECT_EQ(file.format, "safetensors");
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.parameters, 23);
  EXPECT_EQ(file.bytes, fs::file_size(path));
  fs::copy(path, run() / "model.safetensors");
  const Inspection folder = describe_folder(run());
  EXPECT_EQ(folder.format, "weights folder");
  EXPECT_THAT(folder.tensors, UnorderedElementsAreArray(file.tensors));
  EXPECT_EQ(folder.files, 1u);
  fs::resize_file(run() / "model.safetensors", file.bytes - 1);
  for (const Inspection& bad :
       {describe(run() / "model.safetensors"), describe_folder(run())}) {
    EXPECT_THAT(bad.problems, ElementsAre(AllOf(HasSubstr("model.safetensors"),
                                                HasSubstr("cut short"))));
    EXPECT_TRUE(bad.tensors.empty());
  }
}

TEST(StepFolder, NamesGoThereAndBack) {
  EXPECT_EQ(step_folder_name(100), "step-00000100");
  EXPECT_EQ(step_folder_name(1234567890), "step-1234567890");
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{99999999},
                                  std::int64_t{100000000}, INT64_MAX}) {
    EXPECT_EQ(parse_step_folder(step_folder_name(step)), step);
  }
  for (const char* name :
       {"", "step-", "step-1", "step-000000001", "step-00000001x",
        "step-99999999999999999999", "Step-00000001", "step-+0000001"}) {
    EXPECT_EQ(parse_step_folder(name), std::nullopt) << name;
  }
  EXPECT_TRUE(is_checkpoint_file("weights-r00000-1.safetensors.tmp"));
  EXPECT_TRUE(is_checkpoint_file("checkpoint.json"));
  EXPECT_FALSE(is_checkpoint_file("notes.txt"));
  EXPECT_FALSE(is_checkpoint_file("model.safetensors"));
}

}  // namespace
}  // namespace merak::checkpoint
