#include "merak/config/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "merak/config/parse.h"
#include "merak/config/testing.h"

namespace merak::config {
namespace {

using ::testing::HasSubstr;

std::string error(std::vector<std::string> overrides) {
  return usage_error([&] {
    parse_config("model.config.model_type = \"gpt2\"", "d.toml", overrides);
  });
}

Config sound() {
  Config config;
  config.model.config["model_type"] = "gpt2";
  return config;
}

TEST(Check, TheDefaultsAreSound) { EXPECT_NO_THROW(check(sound())); }

TEST(Check, Ranges) {
  EXPECT_EQ(error({"train.steps=0"}),
            "--set: train.steps is 0; it must be from 1 to 1000000000, such as "
            "100");
  EXPECT_THAT(error({"optimizer.lr=0"}),
              HasSubstr("optimizer.lr is 0.0; it must be above 0"));
  EXPECT_THAT(error({"optimizer.lr=-1"}), HasSubstr("above 0"));
  EXPECT_THAT(error({"optimizer.lr=nan"}), HasSubstr("above 0"));
  EXPECT_THAT(error({"optimizer.lr=inf"}), HasSubstr("above 0"));
  EXPECT_THAT(error({"optimizer.eps=0"}), HasSubstr("above 0"));
  EXPECT_THAT(error({"optimizer.betas=[0.9, 1.0]"}), HasSubstr("below 1"));
  EXPECT_THAT(error({"optimizer.betas=[0.9]"}), HasSubstr("2 values"));
  EXPECT_THAT(error({"optimizer.weight_decay=-0.1"}), HasSubstr("at least 0"));
  EXPECT_THAT(error({"train.seed=-1"}), HasSubstr("at least 0"));
  EXPECT_THAT(error({"parallel.pipeline=0"}), HasSubstr("or \"auto\""));
  EXPECT_THAT(error({"train.micro_batch_size=0"}), HasSubstr("or \"auto\""));
  EXPECT_THAT(error({"checkpoint.keep=0"}), HasSubstr("from 1 to"));
  EXPECT_THAT(error({"run.trace_steps=[0, -1]"}), HasSubstr("from 0 to"));
  EXPECT_THAT(error({"train.global_batch_size=4611686018427387904"}),
              HasSubstr("to 1000000000"));
}

TEST(Check, NamesSuggestTheNearest) {
  EXPECT_THAT(error({"parallel.schedule=1f2b"}),
              HasSubstr("did you mean \"1f1b\"?"));
  EXPECT_THAT(error({"optimizer.name=adam_w"}),
              HasSubstr("did you mean \"adamw\"?"));
  EXPECT_THAT(error({"train.precision=fp8"}),
              HasSubstr("one of \"fp32\", \"fp64\", \"bf16\", \"fp16\""));
}

TEST(Check, WhatIsPlannedSaysSo) {
  EXPECT_EQ(error({"parallel.schedule=zb_v"}),
            "--set: parallel.schedule = \"zb_v\" is not supported yet; "
            "supported: \"auto\", \"gpipe\", \"1f1b\"");
  const std::vector<std::string> planned = {
      "parallel.tensor=2",
      "parallel.chunks=2",
      "parallel.schedule=my/schedule.txt",
      "parallel.recompute=full",
      "parallel.recompute=stage_aware",
      "parallel.recompute_ratio=[0.5]",
      "parallel.sequence_parallel=true",
      "parallel.tensor_overlap=2",
      "parallel.zero_stage=1",
      "parallel.memory_limit=8GiB",
      "parallel.features.column=[\"c_attn\"]",
      "optimizer.name=lamb",
      "train.precision=bf16",
      "train.precision=fp16",
      "train.device=cuda",
      "model.path=model.pt2",
  };
  for (const std::string& override : planned) {
    EXPECT_THAT(error({override}), HasSubstr("is not supported yet; supported"))
        << override;
  }
}

TEST(Check, WhatIsNonsenseIsNotPlanned) {
  EXPECT_THAT(error({"parallel.zero_stage=4"}), HasSubstr("from 0 to 3"));
  EXPECT_THAT(error({"parallel.memory_limit=lots"}), HasSubstr("8GiB"));
  EXPECT_THAT(error({"parallel.recompute_ratio=[1.5]"}),
              HasSubstr("from 0 to 1"));
  EXPECT_THAT(error({"parallel.tensor=-1"}), HasSubstr("from 1 to"));
}

TEST(Check, SupportedValuesPass) {
  const std::vector<std::string> overrides = {
      "parallel.tensor=1",          "parallel.chunks=1",
      "parallel.schedule=1f1b",     "parallel.partition=uniform_floor",
      "parallel.recompute=none",    "parallel.sequence_parallel=false",
      "parallel.zero_stage=0",      "optimizer.name=sgd",
      "train.precision=fp64",       "model.loss=cross_entropy",
      "lr_schedule.name=wsd",       "parallel.sharding=farthest_min_deps",
      "train.micro_batch_size=auto"};
  EXPECT_NO_THROW(
      parse_config("model.config.model_type = \"gpt2\"", "d.toml", overrides));
}

TEST(Check, Batches) {
  EXPECT_THAT(error({"train.global_batch_size=16", "train.micro_batch_size=3"}),
              HasSubstr("16 / 1 = 16 is not a multiple of it: 1, 2, 4, 8, 16 "
                        "would work"));
  EXPECT_THAT(error({"train.global_batch_size=16", "parallel.data=3"}),
              HasSubstr("15 or 18 would work"));
  EXPECT_THAT(error({"train.global_batch_size=2", "parallel.data=3"}),
              HasSubstr(": 3 would work"));
  EXPECT_THAT(error({"train.global_batch_size=16", "parallel.data=4",
                     "train.micro_batch_size=8"}),
              HasSubstr("16 / 4 = 4 is not a multiple"));
}

TEST(Check, StepsAndRates) {
  EXPECT_THAT(error({"train.steps=5", "lr_schedule.warmup_steps=6"}),
              HasSubstr("at most train.steps = 5"));
  EXPECT_THAT(error({"lr_schedule.min_lr=1e-3", "optimizer.lr=1e-4"}),
              HasSubstr("min_lr is 0.001; it must be at most optimizer.lr"));
  EXPECT_THAT(error({"train.steps=5", "run.trace_steps=[5]"}),
              HasSubstr("the last one of train.steps = 5 is 4"));
  EXPECT_THAT(error({"train.eval_every=5"}), HasSubstr("data.validation"));
}

TEST(Check, Models) {
  EXPECT_THAT(usage_error([] { parse_config("", "d.toml"); }),
              HasSubstr("model.path is missing"));
  EXPECT_THAT(error({"model.init=pretrained"}), HasSubstr("no model.path"));
}

TEST(Check, AProgramMayBringTheModel) {
  const auto own = [](std::string_view text) {
    return parse_config(text, "d.toml", {}, ModelFrom::kProgram).config;
  };
  EXPECT_NO_THROW(own(""));
  EXPECT_EQ(own("model.config.width = 3").model.config["width"], 3);
  EXPECT_EQ(
      usage_error([&] { own("model.path = \"gpt2/\""); }),
      "d.toml:1: model.path is \"gpt2/\", but this program trains a model "
      "of its own; leave it out, or train the folder's with merak train");
  EXPECT_THAT(usage_error([&] { own("model.init = \"pretrained\""); }),
              HasSubstr("constructor gives the initial values"));
  EXPECT_THAT(usage_error([&] { own("model.loss = \"cross_entropy\""); }),
              HasSubstr("gives its model's loss itself"));
}

TEST(Check, CustomPartitions) {
  EXPECT_THAT(error({"parallel.partition=custom"}), HasSubstr("is empty"));
  EXPECT_THAT(error({"parallel.custom_partition=[0, 2]"}),
              HasSubstr("set partition = \"custom\""));
  EXPECT_THAT(
      error({"parallel.partition=custom", "parallel.custom_partition=[1, 2]"}),
      HasSubstr("start with 0"));
  EXPECT_THAT(error({"parallel.partition=custom",
                     "parallel.custom_partition=[0, 2, 2]"}),
              HasSubstr("ascend"));
  EXPECT_THAT(
      error({"parallel.partition=custom", "parallel.custom_partition=[0, 2]",
             "parallel.pipeline=3"}),
      HasSubstr("has 2 stages; it must have one entry for each of "
                "parallel.pipeline = 3"));
}

TEST(Check, SplitPointsGoWithLayerSplit) {
  const std::string points = "parallel.split_points=[\"h.1\", \"h.3\"]";
  EXPECT_EQ(error({points}),
            "--set: parallel.split_points is [\"h.1\", \"h.3\"], but "
            "parallel.sharding is \"auto\"; set sharding = \"layer_split\", or "
            "leave the list empty");
  for (const std::vector<std::string>& set :
       {std::vector<std::string>{"parallel.sharding=layer_split"},
        {"parallel.sharding=nearest_min_deps"},
        {"parallel.sharding=layer_split", points}}) {
    EXPECT_NO_THROW(
        parse_config("model.config.model_type = \"gpt2\"", "d.toml", set));
  }
}

TEST(Check, TheOriginOfAFileIsALine) {
  const auto message = usage_error([] {
    parse_config(
        "model.config.model_type = \"gpt2\"\n[train]\nsteps = 5\n"
        "[lr_schedule]\nwarmup_steps = 7\n",
        "d.toml");
  });
  EXPECT_THAT(message, HasSubstr("d.toml:5: lr_schedule.warmup_steps is 7"));
}

TEST(Check, TrainingNeedsDataAndATokenizer) {
  Config config = sound();
  EXPECT_THAT(usage_error([&] { check_training(config); }),
              HasSubstr("data.train is missing"));
  config.data.train = {"a.bin", "b.txt"};
  EXPECT_THAT(usage_error([&] { check_training(config); }),
              HasSubstr("data.tokenizer is missing"));
  config.data.tokenizer = "bytes";
  EXPECT_NO_THROW(check_training(config));
  config.data = {};
  config.data.train = {"a.bin"};
  EXPECT_NO_THROW(check_training(config));
}

}  // namespace
}  // namespace merak::config
