// Resuming is as if nothing had happened, twice in a row and in another layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "e2e/run_folder.h"

namespace merak::testing {
namespace {

class Resume : public ::testing::Test {
 protected:
  void train(const std::string& name, const Arguments& set) {
    // Bits depend on the threads of a rank.
    const Finished finished = run_merak(files_.path(), files_.train(name, set),
                                        {{"OMP_NUM_THREADS", "1"}});
    ASSERT_EQ(finished.code, 0) << finished.errors;
  }
  std::string checkpoint(const std::string& name, int step) const {
    return "checkpoint.resume=" +
           (files_.run(name) / "checkpoints" / fmt::format("step-{:08}", step))
               .string();
  }
  // Steps from `first` on.
  void expect_same(const std::string& name, int first, double tolerance) {
    const auto whole = files_.steps("whole"), found = files_.steps(name);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(12 - first));
    for (const auto& [step, record] : found) {
      for (const char* key : {"loss", "grad_norm", "lr"}) {
        const double wanted = whole.at(step).at(key), value = record.at(key);
        EXPECT_LE(std::abs(value - wanted), tolerance * std::abs(wanted))
            << name << " step " << step << " " << key;
      }
      EXPECT_EQ(whole.at(step).at("tokens"), record.at("tokens"));
    }
  }

  RunFolder files_;
};

TEST_F(Resume, PipelineLayoutsHaveTheSameBits) {
  train("whole", {});
  train("second", {checkpoint("whole", 4), "parallel.pipeline=2"});
  train("third", {checkpoint("second", 8), "parallel.pipeline=3",
                  "parallel.schedule=gpipe"});
  expect_same("second", 4, 0);
  expect_same("third", 8, 0);
}

TEST_F(Resume, DataLayoutsDifferByTheOrderOfSums) {
  const std::string fp64 = "train.precision=fp64";
  train("whole", {fp64});
  train("second", {fp64, checkpoint("whole", 4), "parallel.data=2"});
  train("third", {fp64, checkpoint("second", 8), "parallel.pipeline=2",
                  "parallel.data=2"});
  expect_same("second", 4, 1e-9);
  expect_same("third", 8, 1e-9);
}

TEST_F(Resume, AnotherModelsCheckpointIsRefused) {
  train("whole", {"train.steps=4"});
  const Finished finished = run_merak(
      files_.path(), files_.train("other", {checkpoint("whole", 4),
                                            "model.config.n_embd=24"}));
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, ::testing::HasSubstr("transformer"));
}

}  // namespace
}  // namespace merak::testing
