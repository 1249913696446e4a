// What the commands say of a run that came to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/run_folder.h"

namespace merak::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FinishedRun : public ::testing::Test {
 protected:
  FinishedRun() { EXPECT_EQ(train({"train.steps=8"}).code, 0); }

  Finished train(const Arguments& set) {
    return run_merak(files_.path(), files_.train("a", set));
  }
  Finished inspect(const Arguments& more = {}) {
    Arguments arguments = {"inspect", files_.run("a").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_merak(files_.path(), arguments);
  }
  fs::path checkpoints() const { return files_.run("a") / "checkpoints"; }

  RunFolder files_;
};

TEST_F(FinishedRun, StartedAgainSaysThatNothingIsLeft) {
  const Finished again = train({"train.steps=8"});
  EXPECT_EQ(again.code, 0) << again.errors;
  EXPECT_THAT(
      again.output,
      AllOf(StartsWith("the run is at its last step already: 8 steps are done, "
                       "train.steps is 8"),
            Not(HasSubstr("tokens/s"))));
  EXPECT_EQ(files_.steps("a").size(), 8U);
}

TEST_F(FinishedRun, GoesOnWithMoreSteps) {
  const Finished more = train({"train.steps=9"});
  EXPECT_EQ(more.code, 0) << more.errors;
  // One step is too short for a speed.
  EXPECT_THAT(more.output,
              AllOf(StartsWith("9 steps, loss "), Not(HasSubstr("tokens/s"))));
}

TEST_F(FinishedRun, InspectShowsItsNewestCompleteCheckpoint) {
  const Finished found = inspect();
  EXPECT_EQ(found.code, 0) << found.errors;
  EXPECT_THAT(found.output,
              AllOf(StartsWith((checkpoints() / "step-00000008\n").string()),
                    HasSubstr("after 8 steps"), HasSubstr("\nsound\n")));

  // As a save leaves it that was interrupted.
  fs::remove(checkpoints() / "step-00000008" / "checkpoint.json");
  const auto older = nlohmann::json::parse(inspect({"--json"}).output);
  EXPECT_EQ(older.at("step"), 4);
  EXPECT_EQ(older.at("path"), (checkpoints() / "step-00000004").string());
}

TEST_F(FinishedRun, InspectTellsOfDamagedData) {
  for (const auto& item :
       fs::directory_iterator(checkpoints() / "step-00000008")) {
    if (item.path().extension() != ".safetensors") continue;
    std::fstream file(item.path(),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    const char last = static_cast<char>(file.peek());
    file.put(static_cast<char>(~last));
  }
  const Finished found = inspect();
  EXPECT_EQ(found.code, 2);
  EXPECT_THAT(found.output,
              AllOf(HasSubstr("step-00000008"), HasSubstr("not sound: ")));
}

TEST_F(FinishedRun, InspectNeedsACheckpoint) {
  fs::remove_all(checkpoints());
  fs::create_directories(checkpoints());
  const Finished found = inspect();
  EXPECT_EQ(found.code, 2);
  EXPECT_THAT(found.errors, HasSubstr("has no complete checkpoint"));
}

}  // namespace
}  // namespace merak::testing
