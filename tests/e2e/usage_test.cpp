// Wrong input: exit code 2 and one line that teaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "e2e/run_folder.h"

namespace merak::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Usage : public ::testing::Test {
 protected:
  // The one line, or why it is none.
  std::string error(const Arguments& arguments) {
    const Finished finished = run_merak(files_.path(), arguments);
    EXPECT_EQ(finished.code, 2) << finished.errors;
    EXPECT_EQ(std::ranges::count(finished.errors, '\n'), 1) << finished.errors;
    EXPECT_THAT(finished.errors, StartsWith("merak: error: "));
    EXPECT_EQ(finished.output, "");
    return finished.errors;
  }
  std::string train_error(const Arguments& set) {
    return error(files_.train("a", set));
  }

  RunFolder files_;
};

TEST_F(Usage, UnknownKeySuggestsTheNearest) {
  EXPECT_THAT(train_error({"train.step=3"}), HasSubstr("train.steps"));
}

TEST_F(Usage, WrongTypeNamesKeyAndRule) {
  EXPECT_THAT(train_error({"train.steps=many"}),
              AllOf(HasSubstr("train.steps"), HasSubstr("integer")));
}

TEST_F(Usage, MissingFiles) {
  EXPECT_THAT(error({"train", "/no/such.toml"}), HasSubstr("/no/such.toml"));
  EXPECT_THAT(train_error({"data.train=[\"/no/such.u16\"]"}),
              AllOf(HasSubstr("data.train"), HasSubstr("/no/such.u16")));
  EXPECT_THAT(train_error({"model.path=/no/such"}), HasSubstr("/no/such"));
  EXPECT_THAT(train_error({"checkpoint.resume=/no/such"}),
              HasSubstr("/no/such"));
}

TEST_F(Usage, TokenBeyondTheVocabularyNamesFileAndPlace) {
  EXPECT_THAT(train_error({"model.config.vocab_size=50"}),
              AllOf(HasSubstr("tokens.u16"), HasSubstr("50")));
}

TEST_F(Usage, TruncatedWeights) {
  const fs::path golden = fs::path(MERAK_GOLDEN) / "gpt2_5x101";
  const fs::path folder = files_.path() / "model";
  fs::create_directories(folder);
  fs::copy_file(golden / "config.json", folder / "config.json");
  fs::copy_file(golden / "model.safetensors", folder / "model.safetensors");
  fs::resize_file(folder / "model.safetensors", 1000);
  const Arguments set = {"model.path=" + folder.string(),
                         "model.init=pretrained", "data.sequence_length=11"};
  EXPECT_THAT(train_error(set), HasSubstr("model.safetensors"));
}

TEST_F(Usage, WeightsOfAnotherModel) {
  const fs::path golden = fs::path(MERAK_GOLDEN) / "gpt2_5x101";
  EXPECT_THAT(
      train_error({"model.path=" + golden.string(), "model.init=pretrained",
                   "data.sequence_length=11", "model.config.n_layer=6"}),
      AllOf(HasSubstr("c_attn"), HasSubstr("shape")));
}

TEST_F(Usage, DegreesThatDoNotFit) {
  EXPECT_THAT(train_error({"parallel.data=5"}),
              AllOf(HasSubstr("global_batch_size"), HasSubstr("5")));
  Arguments arguments = files_.train("a", {"parallel.pipeline=2"});
  arguments.insert(arguments.end(), {"--ranks", "3"});
  EXPECT_THAT(error(arguments), HasSubstr("3"));
  EXPECT_THAT(train_error({"parallel.pipeline=1000"}), HasSubstr("1000"));
}

TEST_F(Usage, SequencesLongerThanTheModel) {
  EXPECT_THAT(train_error({"data.sequence_length=33"}),
              AllOf(HasSubstr("sequence_length"), HasSubstr("32")));
}

TEST_F(Usage, PlannedFeaturesSayThatTheyAreNotThere) {
  EXPECT_THAT(train_error({"parallel.tensor=2"}),
              HasSubstr("not supported yet"));
  EXPECT_THAT(train_error({"parallel.schedule=zb_h1"}),
              HasSubstr("not supported yet"));
  EXPECT_THAT(train_error({"train.precision=bf16"}),
              HasSubstr("not supported yet"));
  EXPECT_THAT(train_error({"parallel.zero_stage=1"}),
              HasSubstr("not supported yet"));
}

TEST_F(Usage, OtherCommandsTeachToo) {
  EXPECT_THAT(error({"inspect", "/no/such"}), HasSubstr("/no/such"));
  EXPECT_THAT(error({"generate", "/no/such", "--prompt", "a"}),
              HasSubstr("/no/such"));
  EXPECT_THAT(error({"trian", "x"}), HasSubstr("train"));
}

}  // namespace
}  // namespace merak::testing
