// The configuration of a run: one struct a section of the TOML file, with the
// defaults as initialisers. keys.h lists every key with its rule and meaning;
// docs/configuration.md is made from that list.
//
// Paths are as in any command line: relative to the working directory, not to
// the configuration's folder.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "merak/config/auto.h"

namespace merak::config {

struct ModelConfig {
  std::string path;  // empty: config says it all
  std::string init = "random";
  std::string loss;  // empty: the model's own
  // Keys of Hugging Face's config.json, over those of path: an object.
  nlohmann::json config = nlohmann::json::object();
  bool operator==(const ModelConfig&) const = default;
};

struct DataConfig {
  std::vector<std::string> train;
  std::vector<std::string> validation;
  std::string tokenizer;
  std::int64_t sequence_length = 256;  // tokens
  bool shuffle = true;
  bool operator==(const DataConfig&) const = default;
};

struct TrainConfig {
  std::int64_t steps = 100;
  std::int64_t global_batch_size = 16;  // samples a step
  AutoInt micro_batch_size;             // samples; resolve_batch() decides
  std::string precision = "fp32";
  double gradient_clip_norm = 1.0;  // 0: off
  std::int64_t seed = 1234;
  std::int64_t eval_every = 0;  // steps; 0: never
  std::string device = "cpu";
  bool operator==(const TrainConfig&) const = default;
};

struct OptimizerConfig {
  std::string name = "adamw";
  double lr = 3e-4;
  std::vector<double> betas = {0.9, 0.95};  // always two
  double eps = 1e-8;
  double weight_decay = 0.1;  // matrices only
  bool operator==(const OptimizerConfig&) const = default;
};

struct LrScheduleConfig {
  std::string name = "cosine";
  std::int64_t warmup_steps = 10;
  double min_lr = 3e-5;
  bool operator==(const LrScheduleConfig&) const = default;
};

// The feature dictionary: patterns of parameter names.
struct FeatureConfig {
  std::vector<std::string> column;
  std::vector<std::string> row;
  std::vector<std::string> replicate;
  bool operator==(const FeatureConfig&) const = default;
};

struct ParallelConfig {
  AutoInt data;  // degrees: resolve_layout() decides
  AutoInt tensor;
  AutoInt pipeline;
  std::int64_t chunks = 1;
  std::string schedule = "auto";
  std::string partition = "auto";
  std::vector<std::int64_t> custom_partition;
  std::string sharding = "auto";
  std::vector<std::string> split_points;
  std::string recompute = "auto";
  std::vector<double> recompute_ratio;
  AutoBool sequence_parallel;
  std::int64_t tensor_overlap = 1;
  std::int64_t zero_stage = 0;
  std::string memory_limit;  // parse_bytes() of base/str.h; empty: the device's
  FeatureConfig features;
  bool operator==(const ParallelConfig&) const = default;
};

struct CheckpointConfig {
  std::int64_t every = 0;  // steps; 0: never
  std::int64_t keep = 3;   // newest ones kept
  std::string resume = "auto";
  bool operator==(const CheckpointConfig&) const = default;
};

struct RunConfig {
  std::string dir = "runs/demo";
  std::vector<std::int64_t> trace_steps;
  bool tensorboard = true;
  bool operator==(const RunConfig&) const = default;
};

struct Config {
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  OptimizerConfig optimizer;
  LrScheduleConfig lr_schedule;
  ParallelConfig parallel;
  CheckpointConfig checkpoint;
  RunConfig run;
  bool operator==(const Config&) const = default;
};

}  // namespace merak::config
