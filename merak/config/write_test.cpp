#include "merak/config/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "merak/config/keys.h"
#include "merak/config/parse.h"

namespace merak::config {
namespace {

using ::testing::HasSubstr;

Config odd() {
  Config config;
  config.model.path = "a \"quoted\"\\path\twith\nall\x01\x7f \xc3\xa9";
  config.model.config = {
      {"model_type", "gpt2"},
      {"n_layer", 4},
      {"dropout", 0.0},
      {"eps", 1e-5},
      {"flag", true},
      {"list", {1, 2.5, "x", {3}}},
      {"nested", {{"a b", 1}, {"empty", nlohmann::json::object()}}},
      {"", "empty key"}};
  config.data.train = {"x.bin", "y # z.bin"};
  config.train.micro_batch_size = 4;
  config.optimizer.lr = 0.1 + 0.2;  // 17 digits
  config.optimizer.weight_decay = 1;
  config.lr_schedule.min_lr = 1e-300;
  config.parallel.pipeline = 3;
  config.parallel.partition = "custom";
  config.parallel.custom_partition = {0, 1, 7};
  config.parallel.sequence_parallel = false;
  return config;
}

TEST(Write, ParsesBackToTheSame) {
  for (const Config& config : {odd(), [] {
                                 Config plain;
                                 plain.model.path = "gpt2";
                                 return plain;
                               }()}) {
    const std::string text = to_toml(config);
    const Config again = parse_config(text, "config.toml").config;
    EXPECT_EQ(again, config) << text;
    EXPECT_EQ(to_toml(again), text);
  }
}

TEST(Write, KeepsTypes) {
  const std::string text = to_toml(odd());
  EXPECT_THAT(text, HasSubstr("\nweight_decay = 1.0\n"));
  EXPECT_THAT(text, HasSubstr("\ndropout = 0.0\n"));
  EXPECT_THAT(text, HasSubstr("\nn_layer = 4\n"));
  EXPECT_THAT(text, HasSubstr("\ndata = \"auto\"\n"));
}

TEST(Write, HasEveryKeyOfTheTable) {
  const std::string text = "\n" + to_toml(odd());
  for (const Key& key : keys()) {
    EXPECT_TRUE(text.find("\n" + key.name + " = ") != std::string::npos ||
                text.find("[" + key.path() + "]") != std::string::npos)
        << key.path();
  }
}

}  // namespace
}  // namespace merak::config
