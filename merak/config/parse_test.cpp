#include "merak/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "merak/config/testing.h"
#include "merak/config/write.h"

namespace merak::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A sound file of one section of the reader's choice.
constexpr const char* kModel = "model.config.model_type = \"gpt2\"\n";

Config parse(const std::string& text,
             const std::vector<std::string>& overrides = {}) {
  return parse_config(kModel + text, "demo.toml", overrides).config;
}

std::string error(const std::string& text,
                  const std::vector<std::string>& overrides = {}) {
  return usage_error([&] { parse(text, overrides); });
}

// The configuration block of the interface, word for word but for values that
// are not supported yet.
constexpr const char* kFull = R"(
[model]
path = "gpt2/"
init = "random"
[model.config]
model_type = "gpt2"
n_layer = 4
resid_pdrop = 0.0
tie_word_embeddings = true
sizes = [1, 2]
nested = { a = "b" }
[data]
train = ["corpus/*.txt"]
validation = []
tokenizer = "tokenizer.json"
sequence_length = 256
shuffle = true
[train]
steps = 100
global_batch_size = 16
micro_batch_size = 2
precision = "fp32"
gradient_clip_norm = 1.0
seed = 1234
eval_every = 0
device = "cpu"
[optimizer]
name = "adamw"
lr = 3e-4
betas = [0.9, 0.95]
eps = 1e-8
weight_decay = 0.1
[lr_schedule]
name = "cosine"
warmup_steps = 10
min_lr = 3e-5
[parallel]
data = "auto"
tensor = "auto"
pipeline = 2
chunks = 1
schedule = "auto"
partition = "auto"
custom_partition = []
sharding = "auto"
split_points = []
recompute = "auto"
recompute_ratio = []
sequence_parallel = "auto"
tensor_overlap = 1
zero_stage = 0
memory_limit = ""
[parallel.features]
column = []
row = []
replicate = []
[checkpoint]
every = 0
keep = 3
resume = "auto"
[run]
dir = "runs/demo"
trace_steps = [1, 2]
tensorboard = true
)";

TEST(Parse, EveryKeyOfTheInterface) {
  const Config config = parse_config(kFull, "x.toml").config;
  EXPECT_EQ(config.model.path, "gpt2/");
  EXPECT_EQ(config.model.config["n_layer"], 4);
  EXPECT_TRUE(config.model.config["n_layer"].is_number_integer());
  EXPECT_TRUE(config.model.config["resid_pdrop"].is_number_float());
  EXPECT_EQ(config.model.config["tie_word_embeddings"], true);
  EXPECT_EQ(config.model.config["sizes"], nlohmann::json({1, 2}));
  EXPECT_EQ(config.model.config["nested"]["a"], "b");
  EXPECT_THAT(config.data.train, ElementsAre("corpus/*.txt"));
  EXPECT_EQ(config.train.micro_batch_size, AutoInt(2));
  EXPECT_DOUBLE_EQ(config.optimizer.lr, 3e-4);
  EXPECT_TRUE(config.parallel.data.is_auto());
  EXPECT_EQ(config.parallel.pipeline, AutoInt(2));
  EXPECT_EQ(config.run.dir, "runs/demo");
  EXPECT_THAT(config.run.trace_steps, ElementsAre(1, 2));
}

TEST(Parse, DefaultsAreThoseOfTheInterface) {
  Config expected = parse_config(kFull, "x.toml").config;
  expected.model = {};
  expected.model.config["model_type"] = "gpt2";
  expected.data.train.clear();
  expected.data.tokenizer.clear();
  expected.train.micro_batch_size = {};
  expected.parallel.pipeline = {};
  expected.run.trace_steps.clear();
  EXPECT_EQ(to_toml(parse("")), to_toml(expected));
}

TEST(Parse, DefaultsFollowOtherKeys) {
  EXPECT_DOUBLE_EQ(parse("optimizer.lr = 1e-5").lr_schedule.min_lr, 1e-6);
  EXPECT_EQ(parse("train.steps = 20").lr_schedule.warmup_steps, 2);
  EXPECT_EQ(parse("train.steps = 5000").lr_schedule.warmup_steps, 10);
  EXPECT_EQ(parse_config(kModel, "a/gpt2.small.toml").config.run.dir,
            "runs/gpt2.small");
}

TEST(Parse, AnIntegerIsANumber) {
  EXPECT_EQ(parse("optimizer.lr = 1").optimizer.lr, 1.0);
  EXPECT_THAT(parse("optimizer.betas = [0, 0.5]").optimizer.betas,
              ElementsAre(0.0, 0.5));
}

TEST(Parse, WrongTypesSayWhatWasFoundAndWhatIsExpected) {
  EXPECT_EQ(error("[train]\n\nsteps = \"ten\""),
            "demo.toml:4: train.steps is \"ten\" (a string); it must be an "
            "integer, such as 100");
  EXPECT_THAT(error("train.steps = 1e3"), HasSubstr("such as 1000"));
  EXPECT_THAT(error("train.steps = true"), HasSubstr("true (a boolean)"));
  EXPECT_THAT(error("train.steps = 2024-01-01"), HasSubstr("a date or time"));
  EXPECT_THAT(error("data.train = \"a.txt\""),
              HasSubstr("it must be a list of strings, such as [\"a.txt\"]"));
  EXPECT_THAT(error("data.train = [\"a\", 1]"), HasSubstr("a list of strings"));
  EXPECT_THAT(error("optimizer.betas = 0.9"), HasSubstr("a list of numbers"));
  EXPECT_THAT(error("data.shuffle = 1"), HasSubstr("true or false"));
  EXPECT_THAT(error("parallel.data = \"all\""),
              HasSubstr("an integer or \"auto\""));
  EXPECT_THAT(error("model.loss = 3"), HasSubstr("a string"));
  EXPECT_THAT(error("model.config.day = 2024-01-01"),
              HasSubstr("model.config.day is a date"));
  EXPECT_THAT(usage_error([] { parse_config("model.config = 3", "d.toml"); }),
              HasSubstr("it must be a table, such as { n_layer = 4 }"));
  EXPECT_THAT(error("parallel.sequence_parallel = 1"),
              HasSubstr("true, false or \"auto\""));
  EXPECT_THAT(error("train = 3"), HasSubstr("train is 3 (an integer); it must "
                                            "be a section, [train]"));
}

TEST(Parse, UnknownKeysSuggestTheNearest) {
  EXPECT_EQ(error("[train]\nstep = 3"),
            "demo.toml:3: unknown key train.step; did you mean train.steps?");
  EXPECT_THAT(error("[trian]\nsteps = 3"),
              StartsWith("demo.toml:2: unknown section [trian]; did you mean "
                         "[train]?"));
  EXPECT_THAT(error("train.lr = 1.0"), HasSubstr("did you mean optimizer.lr?"));
  EXPECT_THAT(error("steps = 3"), HasSubstr("did you mean train.steps?"));
  EXPECT_THAT(error("model.n_embd = 3"), HasSubstr("[model.config]"));
  EXPECT_THAT(error("checkpoint.zzzzzz = 3"),
              HasSubstr("[checkpoint] has every, keep, resume"));
  EXPECT_THAT(error("[parallel.feature]\nrow = []"),
              HasSubstr("did you mean [parallel.features]?"));
  EXPECT_THAT(error("", {"paralel.pipeline=2"}),
              StartsWith("--set: unknown section [paralel]; did you mean"));
  EXPECT_THAT(error("", {"parallel.pipelines=2"}),
              HasSubstr("did you mean parallel.pipeline?"));
}

TEST(Parse, TheFirstErrorOfTheFileIsTheOne) {
  const std::string text = "[train]\nzz = 1\nsteps = -1\n[data]\nyy = 2\n";
  EXPECT_THAT(error(text), StartsWith("demo.toml:3: unknown key train.zz"));
  EXPECT_THAT(error("[train]\nsteps = -1\nzz = 1\n"),
              StartsWith("demo.toml:3: train.steps is -1"));
}

TEST(Parse, BrokenTomlNamesTheLine) {
  EXPECT_THAT(error("[train]\nsteps = = 3"),
              StartsWith("demo.toml:3: not valid TOML: "));
  EXPECT_THAT(error("train.steps = 1\ntrain.steps = 2"),
              StartsWith("demo.toml:3: not valid TOML: "));
}

TEST(Parse, OverridesWinAndTheLastOneFirst) {
  const Config config = parse(
      "train.steps = 5", {"train.steps=6", "train.steps=7",
                          "optimizer.lr = 1e-3", "parallel.schedule=gpipe",
                          "run.dir=runs/x y", "data.train=[\"a.txt\", 'b.txt']",
                          "parallel.data=auto", "model.config.n_layer=4",
                          "model.config.act=relu", "data.shuffle=false"});
  EXPECT_EQ(config.train.steps, 7);
  EXPECT_EQ(config.optimizer.lr, 1e-3);
  EXPECT_EQ(config.parallel.schedule, "gpipe");
  EXPECT_EQ(config.run.dir, "runs/x y");
  EXPECT_THAT(config.data.train, ElementsAre("a.txt", "b.txt"));
  EXPECT_EQ(config.model.config["n_layer"], 4);
  EXPECT_EQ(config.model.config["act"], "relu");
  EXPECT_EQ(config.model.config["model_type"], "gpt2");  // kept
  EXPECT_FALSE(config.data.shuffle);
}

TEST(Parse, AnOverrideOfAStringKeyIsItsText) {
  EXPECT_EQ(parse("", {"run.dir=7"}).run.dir, "7");
  EXPECT_EQ(parse("", {"run.dir=2024-05-01"}).run.dir, "2024-05-01");
  EXPECT_EQ(parse("", {"run.dir=a=b"}).run.dir, "a=b");
  EXPECT_EQ(parse("", {"run.dir=\"q\""}).run.dir, "q");
  EXPECT_EQ(parse("", {"run.dir="}).run.dir, "");
}

TEST(Parse, WrongOverrides) {
  EXPECT_THAT(error("", {"train.steps"}),
              HasSubstr("it must be section.key=value"));
  EXPECT_THAT(error("", {"=3"}), HasSubstr("it must be section.key=value"));
  EXPECT_THAT(error("", {"train.steps=many"}),
              StartsWith("--set: train.steps is \"many\" (a string)"));
  EXPECT_THAT(error("", {"train..steps=3"}), HasSubstr("not valid TOML"));
  EXPECT_THAT(error("", {"train.steps=3\ntrain.seed=4"}),
              HasSubstr("train.steps is"));
  EXPECT_THAT(error("", {"run.dir=\xff\xfe"}), HasSubstr("not valid TOML"));
}

TEST(Parse, OverridesMendTheFile) {
  // What only the rules between keys forbid is judged at the end.
  EXPECT_EQ(parse("train.global_batch_size = 15\ntrain.micro_batch_size = 5",
                  {"train.micro_batch_size=3"})
                .train.micro_batch_size,
            AutoInt(3));
}

TEST(Parse, ATokenizerBesideTheModelIsTheDefault) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "merak-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string model = "model.path=" + folder;
  EXPECT_EQ(parse("", {model}).data.tokenizer, "");
  std::ofstream(folder + "/tokenizer.json") << "{}";
  EXPECT_EQ(parse("", {model}).data.tokenizer, folder + "/tokenizer.json");
  EXPECT_EQ(parse("data.tokenizer = \"bytes\"", {model}).data.tokenizer,
            "bytes");
  fs::remove_all(folder);
}

TEST(Parse, AMissingFileIsAUsageError) {
  EXPECT_THAT(usage_error([] { load_config("/nonexistent/x.toml"); }),
              HasSubstr("/nonexistent/x.toml: No such file"));
}

}  // namespace
}  // namespace merak::config
