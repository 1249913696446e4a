// The disk goes wrong at every operation of a save, in every way there is; then
// what a resume finds is looked at as the program left it, and as a power loss
// would.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "merak/base/error.h"
#include "merak/checkpoint/checkpoint.h"
#include "merak/checkpoint/cleanup.h"
#include "merak/checkpoint/inspect.h"
#include "merak/checkpoint/safetensors/testing.h"
#include "merak/checkpoint/step_folder.h"
#include "merak/checkpoint/testing/faulty_files.h"
#include "merak/checkpoint/testing/memory_files.h"
#include "merak/checkpoint/testing/saves.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using testing::Crash;
using ::testing::Each;
using testing::Fault;
using testing::FaultyFiles;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using testing::Killed;
using testing::Look;
using testing::MemoryFiles;
using testing::Save;
using testing::TempFolder;

const fs::path kRun = "/run";
const fs::path kCheckpoints = kRun / kCheckpointsFolder;

const Look kLooks[] = {{.crash = Crash::kKilled},
                       {.crash = Crash::kPowerLoss},
                       {.crash = Crash::kTorn, .seed = 1},
                       {.crash = Crash::kTorn, .seed = 2},
                       {.crash = Crash::kTorn, .seed = 3}};

// Saves that worked, then the one that is disturbed.
struct Scenario {
  std::string name;
  std::vector<Save> before;
  Save disturbed;
  bool has_leftovers = false;
};

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

void write(FileSystem& files, const fs::path& path, std::string_view bytes) {
  const auto file = files.create(path, bytes.size());
  file->append(bytes);
  file->sync();
  file->close();
  files.sync_folder(path.parent_path());
}

// What killed saves and clean-ups of all kinds leave.
void add_leftovers(FileSystem& files, std::int64_t step) {
  for (const std::string& name :
       {step_folder_name(step), step_folder_name(step - 1),
        step_folder_name(step - 2) + std::string(kDeletedSuffix)}) {
    files.make_folder(kCheckpoints / name);
    write(files, kCheckpoints / name / "weights-r00000.safetensors", "whole");
    write(files, kCheckpoints / name / "optimizer-r00001.safetensors.tmp", "");
    write(files, kCheckpoints / name / "checkpoint.json.tmp", "{\"xxh");
  }
  files.sync_folder(kCheckpoints);
}

void fail_to_warn(const std::string& line) { ADD_FAILURE() << line; }

MemoryFiles prepare(const Scenario& scenario) {
  MemoryFiles disk;
  make_durable_folder(disk, kRun);
  for (const Save& save : scenario.before) {
    testing::save(disk, kRun, save, fail_to_warn);
  }
  if (scenario.has_leftovers) add_leftovers(disk, scenario.disturbed.step);
  return disk.after({.crash = Crash::kPowerLoss});
}

// What became of a save on a disk that goes wrong.
struct Outcome {
  bool is_published = false;
  bool is_killed = false;
  std::string error = {};
  std::vector<std::string> warnings = {};
};

Outcome save_on(FaultyFiles& files, const Save& what) {
  Outcome outcome;
  try {
    testing::save(files, kRun, what, [&](const std::string& line) {
      outcome.warnings.push_back(line);
    });
    outcome.is_published = true;
  } catch (const Killed&) {
    outcome.is_killed = true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime) << error.what();
    outcome.error = error.what();
  }
  return outcome;
}

// What is called a checkpoint is one, older ones too.
void expect_all_sound(const fs::path& checkpoints) {
  for (const std::string& name : system_files().list(checkpoints)) {
    const fs::path folder = checkpoints / name;
    if (!parse_step_folder(name) || !fs::exists(folder / kIndexFile)) continue;
    EXPECT_THAT(verify(folder).problems, IsEmpty());
  }
}

// The save that a resume would continue from; nothing if there is none. Fails
// the test if a checkpoint is there that is not sound.
std::optional<Save> newest_on(const MemoryFiles& disk,
                              const std::vector<Save>& possible) {
  const TempFolder folder;
  disk.copy_to(folder.path());
  expect_all_sound(folder.path() / "run" / kCheckpointsFolder);
  std::vector<std::string> skipped;
  const auto found = find_newest_complete(
      folder.path() / "run",
      [&](const std::string& line) { skipped.push_back(line); });
  EXPECT_THAT(skipped, Each(HasSubstr("its save did not finish")));
  if (!found) return std::nullopt;
  const std::string trainer = open_checkpoint(*found).trainer();
  for (const Save& save : possible) {
    if (testing::publication(kRun, save).trainer != trainer) continue;
    testing::expect_holds(*found, save);
    return save;
  }
  ADD_FAILURE() << found->string() << " holds " << trainer;
  return std::nullopt;
}

// The version of the newest save. Looks once at what is the same.
class Finder {
 public:
  std::optional<std::uint64_t> version_on(const MemoryFiles& disk,
                                          const std::vector<Save>& possible) {
    const auto [at, is_new] = known_.try_emplace(disk.contents());
    if (is_new) {
      const std::optional<Save> found = newest_on(disk, possible);
      if (found) at->second = found->version;
    }
    return at->second;
  }

 private:
  std::map<std::map<std::string, std::string>, std::optional<std::uint64_t>>
      known_;
};

// Checkpoints that are there, and nothing beside them.
void expect_tidy(MemoryFiles& disk, std::size_t at_most) {
  EXPECT_LE(disk.list(kCheckpoints).size(), at_most);
  for (const std::string& name : disk.list(kCheckpoints)) {
    ASSERT_TRUE(parse_step_folder(name)) << name;
    const fs::path folder = kCheckpoints / name;
    const Index index = parse_index(disk.read(folder / kIndexFile), name);
    EXPECT_EQ(disk.list(folder).size(), index.contents.files.size() + 1)
        << name << " has files that are not the checkpoint's";
  }
}

class EveryOperation : public ::testing::TestWithParam<Scenario> {
 protected:
  const Save& disturbed() const { return GetParam().disturbed; }

  std::optional<std::uint64_t> previous() const {
    if (GetParam().before.empty()) return std::nullopt;
    return GetParam().before.back().version;
  }

  std::vector<Save> possible() const {
    std::vector<Save> saves = GetParam().before;
    saves.push_back(disturbed());
    return saves;
  }

  // A save that the next run or the next interval makes.
  Save next() const {
    Save save = disturbed();
    save.step += 5;
    save.version = 1000;
    return save;
  }

  // Calls `check` with a disk and what happened on it, for each operation of
  // the disturbed save.
  template <typename F>
  void for_each_operation(Fault fault, F&& check) {
    const MemoryFiles prepared = prepare(GetParam());
    for (std::int64_t at = 0;; ++at) {
      MemoryFiles disk = prepared.after({});
      FaultyFiles files(disk, fault, at);
      const Outcome outcome = save_on(files, disturbed());
      if (!files.has_struck()) {
        EXPECT_TRUE(outcome.is_published);
        EXPECT_GT(at, 20);
        return;
      }
      SCOPED_TRACE(fmt::format("operation {}: {}", at, files.struck()));
      check(disk, files, outcome);
      if (HasFailure()) return;  // one place is enough to read
    }
  }

  void expect_previous_or_new(const MemoryFiles& disk, const Outcome& outcome) {
    for (const Look& look : kLooks) {
      SCOPED_TRACE(fmt::format("crash {}, seed {}",
                               static_cast<int>(look.crash), look.seed));
      const auto version = finder_.version_on(disk.after(look), possible());
      if (outcome.is_published) {
        EXPECT_EQ(version, disturbed().version);
      } else {
        EXPECT_THAT(version, AnyOf(previous(), disturbed().version));
      }
    }
  }

  // A run starts on what a crash left, and saves.
  void expect_recovery(const MemoryFiles& disk) {
    for (const Look& look : kLooks) {
      MemoryFiles after = disk.after(look);
      remove_unfinished(after, kCheckpoints, 1000, fail_to_warn);
      testing::save(after, kRun, next(), fail_to_warn);
      EXPECT_EQ(finder_.version_on(after.after({.crash = Crash::kPowerLoss}),
                                   {next()}),
                next().version);
      expect_tidy(after, static_cast<std::size_t>(next().keep));
    }
  }

  Finder finder_;
};

TEST_P(EveryOperation, AKillLeavesThePreviousOrTheNewCheckpoint) {
  for_each_operation(Fault::kKill, [&](MemoryFiles& disk, FaultyFiles&,
                                       const Outcome& outcome) {
    EXPECT_TRUE(outcome.is_killed);
    expect_previous_or_new(disk, outcome);
    expect_recovery(disk);
    // The next run has begun to clean up when the power goes.
    remove_unfinished(disk, kCheckpoints, 1000, fail_to_warn);
    expect_previous_or_new(disk, outcome);
  });
}

// All that is in a step's folder if its save failed before it was published.
std::vector<std::string> files_of_step(MemoryFiles& disk, std::int64_t step) {
  return disk.list(kCheckpoints / step_folder_name(step));
}

TEST_P(EveryOperation, AnErrorIsToldAndLeavesNothingBehind) {
  const std::vector<std::string> before = [&] {
    MemoryFiles disk = prepare(GetParam());
    return files_of_step(disk, disturbed().step);
  }();
  for_each_operation(Fault::kError, [&](MemoryFiles& disk, FaultyFiles&,
                                        const Outcome& outcome) {
    expect_previous_or_new(disk, outcome);
    if (outcome.is_published) {
      EXPECT_THAT(outcome.warnings, Each(HasSubstr("/run/checkpoints")));
      EXPECT_THAT(outcome.warnings, Each(HasSubstr("Input/output error")));
      EXPECT_EQ(outcome.warnings.size(), 1u);
    } else {
      EXPECT_THAT(outcome.error, HasSubstr("/run"));
      EXPECT_THAT(outcome.error, HasSubstr("Input/output error"));
      if (finder_.version_on(disk, possible()) != disturbed().version) {
        EXPECT_THAT(files_of_step(disk, disturbed().step), IsSubsetOf(before));
      }
    }
    expect_recovery(disk);
  });
}

TEST_P(EveryOperation, AFullDiskIsToldAndTheRunGoesOnWhenThereIsRoom) {
  for_each_operation(Fault::kFull, [&](MemoryFiles& disk, FaultyFiles&,
                                       const Outcome& outcome) {
    EXPECT_FALSE(outcome.is_published);
    EXPECT_THAT(outcome.error, HasSubstr("/run"));
    EXPECT_THAT(outcome.error, HasSubstr("No space left on device"));
    expect_previous_or_new(disk, outcome);
    expect_recovery(disk);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Saves, EveryOperation,
    ::testing::Values(
        Scenario{"First", {}, {.step = 10, .version = 1}},
        Scenario{"KeepOne",
                 {{.step = 10, .version = 1}},
                 {.step = 20, .version = 2}},
        Scenario{"KeepTwo",
                 {{.step = 10, .version = 1, .keep = 2},
                  {.step = 20, .version = 2, .keep = 2}},
                 {.step = 30, .version = 3, .keep = 2}},
        Scenario{"OtherLayout",
                 {{.step = 10, .version = 1, .ranks = 3}},
                 {.step = 20, .version = 2, .ranks = 1}},
        Scenario{"SameStepAgain",
                 {{.step = 10, .version = 1}, {.step = 20, .version = 2}},
                 {.step = 20, .version = 3}},
        Scenario{"WentBack",
                 {{.step = 10, .version = 1, .keep = 3},
                  {.step = 20, .version = 2, .keep = 3},
                  {.step = 30, .version = 3, .keep = 3}},
                 {.step = 15, .version = 4, .keep = 2}},
        Scenario{"Leftovers",
                 {{.step = 10, .version = 1}},
                 {.step = 20, .version = 2},
                 true},
        Scenario{"InBackground",
                 {{.step = 10, .version = 1}},
                 {.step = 20, .version = 2, .in_background = true}}),
    [](const auto& parameter) { return parameter.param.name; });

// Errors of a save are not the end of a run: what they left must not harm what
// a later crash finds.
TEST(SeveralFaults, LeaveANewestCheckpoint) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    const int keep = static_cast<int>(testing::draw(1, 3, random));
    MemoryFiles disk = prepare({"", {{.step = 10, .version = 1}}, {}});
    std::vector<Save> possible = {{.step = 10, .version = 1}};
    std::uint64_t published = 1;
    for (std::uint64_t version = 2; version < 6; ++version) {
      Save save{.step = testing::draw(1, 6, random) * 10,
                .version = version,
                .keep = keep};
      possible.push_back(save);
      const bool is_kill = testing::draw(0, 2, random) == 0;
      FaultyFiles files(disk, is_kill ? Fault::kKill : Fault::kError,
                        testing::draw(0, 150, random));
      if (save_on(files, save).is_published) published = version;
      const Look look = kLooks[testing::draw(0, 4, random)];
      const auto found = newest_on(disk.after(look), possible);
      ASSERT_TRUE(found) << files.struck();
      // One that was begun later may have been completed.
      EXPECT_GE(found->version, published) << files.struck();
      if (is_kill) disk = disk.after(look);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace merak::checkpoint
