#include "merak/config/keys.h"

#include <cmath>

#include "merak/base/str.h"
#include "merak/config/text.h"

namespace merak::config {
namespace {

// The member of a section, or of a part of one.
template <auto Section, auto Member>
auto& at(Config& config) {
  return config.*Section.*Member;
}
template <auto Section, auto Part, auto Member>
auto& at(Config& config) {
  return config.*Section.*Part.*Member;
}

Rule any() { return {}; }

Rule at_least(double least) {
  Rule rule;
  rule.least = least;
  return rule;
}

Rule above(double least) {
  Rule rule = at_least(least);
  rule.least_excluded = true;
  return rule;
}

Rule between(double least, double most) {
  Rule rule = at_least(least);
  rule.most = most;
  return rule;
}

std::vector<std::string> quoted(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(toml_text(name));
  return result;
}

// `later` are names with a meaning that this version does not support.
Rule one_of(const std::vector<std::string>& now,
            const std::vector<std::string>& later = {}) {
  Rule rule;
  rule.choices = quoted(now);
  if (later.empty()) return rule;
  rule.supported = rule.choices;
  for (const std::string& name : quoted(later)) rule.choices.push_back(name);
  return rule;
}

// Values that pass `rule` but are none of these are for a later version.
Rule only(std::vector<std::string> supported, Rule rule = {}) {
  rule.supported = std::move(supported);
  return rule;
}

// How many of something. The bound keeps products of two in 64 bits.
Rule count(double least) { return between(least, 1e9); }

Rule degree() { return between(1, 1e6); }

Rule two_betas() {
  Rule rule = between(0, 1);
  rule.most_excluded = true;
  rule.length = 2;
  return rule;
}

Rule schedule_name() {
  Rule rule = one_of(
      {"auto", "gpipe", "1f1b"},
      {"pre_recompute_1f1b", "last_no_recompute_1f1b", "shifted_critical_path",
       "interleaved_1f1b", "zb_h1", "zb_h2", "zb_v", "dual_pipe_v", "chimera"});
  rule.may_be_file = true;
  return rule;
}

Rule size_limit() {
  Rule rule = only({"\"\""});
  rule.is_size = true;
  return rule;
}

// clang-format off
std::vector<Key> make_keys() {
  using C = Config;
  using M = ModelConfig;
  using D = DataConfig;
  using T = TrainConfig;
  using O = OptimizerConfig;
  using L = LrScheduleConfig;
  using P = ParallelConfig;
  using F = FeatureConfig;
  using K = CheckpointConfig;
  using R = RunConfig;
  return {
  {"model", "path", at<&C::model, &M::path>, any(),
   "Hugging Face folder with `config.json`. Needed unless `[model.config]` "
   "has a `model_type`. A `.pt2` file is not supported yet"},
  {"model", "init", at<&C::model, &M::init>, one_of({"random", "pretrained"}),
   "initial weights: random, or the `*.safetensors` files of `path`"},
  {"model", "loss", at<&C::model, &M::loss>, one_of({"", "cross_entropy"}),
   "empty: the model's only scalar floating output; `\"cross_entropy\"` makes "
   "one from its logits and the input `labels` (-100 is ignored)"},
  {"model", "config", at<&C::model, &M::config>, any(),
   "keys of Hugging Face's `config.json`, instead of `path` or over its own; "
   "Merak passes them to the model, which knows them"},

  {"data", "train", at<&C::data, &D::train>, any(),
   "files or patterns: `.txt`, `.jsonl` (field `text`), `.bin` with `.idx` "
   "(Megatron), `.u16` or `.u32` (flat token ids), `.safetensors` (tensors "
   "named as the model's inputs, first dimension: samples), MNIST `.idx`"},
  {"data", "validation", at<&C::data, &D::validation>, any(),
   "files for the validation loss, of the same kinds"},
  {"data", "tokenizer", at<&C::data, &D::tokenizer>, any(),
   "a `tokenizer.json`, a SentencePiece `.model`, or `\"bytes\"` (256 byte "
   "values, no file). Default: the `tokenizer.json` in `model.path`, if any"},
  {"data", "sequence_length", at<&C::data, &D::sequence_length>, count(1),
   "tokens of a sample"},
  {"data", "shuffle", at<&C::data, &D::shuffle>, any(),
   "a permutation by seed and epoch; `false`: the order of the files"},

  {"train", "steps", at<&C::train, &T::steps>, count(1),
   "optimizer steps"},
  {"train", "global_batch_size", at<&C::train, &T::global_batch_size>,
   count(1), "sequences a step, over all ranks"},
  {"train", "micro_batch_size", at<&C::train, &T::micro_batch_size>,
   count(1),
   "sequences of a micro-batch. `\"auto\"`: the largest divisor of a data "
   "rank's share, at most 8, that leaves four micro-batches a stage (with "
   "more than one stage), else 1"},
  {"train", "precision", at<&C::train, &T::precision>,
   one_of({"fp32", "fp64"}, {"bf16", "fp16"}), "arithmetic of the model"},
  {"train", "gradient_clip_norm", at<&C::train, &T::gradient_clip_norm>,
   at_least(0), "largest global gradient norm; 0: no clipping"},
  {"train", "seed", at<&C::train, &T::seed>, at_least(0),
   "fixes initial weights, dropout and data order, whatever the layout"},
  {"train", "eval_every", at<&C::train, &T::eval_every>, count(0),
   "steps between validation losses; 0: none"},
  {"train", "device", at<&C::train, &T::device>, one_of({"cpu"}, {"cuda"}),
   "where ranks compute"},

  {"optimizer", "name", at<&C::optimizer, &O::name>,
   one_of({"sgd", "adam", "adamw"}, {"lamb"}), "the update rule"},
  {"optimizer", "lr", at<&C::optimizer, &O::lr>, above(0),
   "peak learning rate"},
  {"optimizer", "betas", at<&C::optimizer, &O::betas>, two_betas(),
   "decay of the first and the second moment"},
  {"optimizer", "eps", at<&C::optimizer, &O::eps>, above(0),
   "added to the root of the second moment"},
  {"optimizer", "weight_decay", at<&C::optimizer, &O::weight_decay>,
   at_least(0), "of matrices only: biases and norms have none"},

  {"lr_schedule", "name", at<&C::lr_schedule, &L::name>,
   one_of({"constant", "linear", "cosine", "wsd"}),
   "the shape after the warm-up"},
  {"lr_schedule", "warmup_steps", at<&C::lr_schedule, &L::warmup_steps>,
   count(0),
   "steps of linear warm-up. Default: 10, or a tenth of `train.steps` if that "
   "is less"},
  {"lr_schedule", "min_lr", at<&C::lr_schedule, &L::min_lr>, at_least(0),
   "learning rate at the end. Default: a tenth of `optimizer.lr`"},

  {"parallel", "data", at<&C::parallel, &P::data>, degree(),
   "data-parallel degree. `\"auto\"` takes the ranks that the others leave"},
  {"parallel", "tensor", at<&C::parallel, &P::tensor>,
   only({"\"auto\"", "1"}, degree()), "tensor-parallel degree"},
  {"parallel", "pipeline", at<&C::parallel, &P::pipeline>, degree(),
   "pipeline stages. `\"auto\"`: 1, or what is left if `data` is a number"},
  {"parallel", "chunks", at<&C::parallel, &P::chunks>,
   only({"1"}, at_least(1)),
   "model chunks a rank (interleaved_1f1b, zb_v, dual_pipe_v)"},
  {"parallel", "schedule", at<&C::parallel, &P::schedule>, schedule_name(),
   "order of the micro-batches' forwards and backwards"},
  {"parallel", "partition", at<&C::parallel, &P::partition>,
   one_of({"auto", "uniform", "uniform_floor", "parameters", "custom"}),
   "how shards become stages"},
  {"parallel", "custom_partition",
   at<&C::parallel, &P::custom_partition>, count(0),
   "first shard of each stage, for `partition = \"custom\"`"},
  {"parallel", "sharding", at<&C::parallel, &P::sharding>,
   one_of({"auto", "farthest_min_deps", "nearest_min_deps", "layer_split"}),
   "how the graph is cut in shards: `farthest_min_deps` where few values "
   "cross, each cut as far on as it can be, `nearest_min_deps` each as near; "
   "`layer_split` at modules. `\"auto\"`: the first that gives enough shards"},
  {"parallel", "split_points", at<&C::parallel, &P::split_points>,
   any(),
   "module names, for `sharding = \"layer_split\"`: a shard begins at each. "
   "Empty: at every repeated layer"},
  {"parallel", "recompute", at<&C::parallel, &P::recompute>,
   one_of({"auto", "none"}, {"full", "selective", "stage_aware", "budget"}),
   "which activations are computed again instead of kept"},
  {"parallel", "recompute_ratio", at<&C::parallel, &P::recompute_ratio>,
   only({"[]"}, between(0, 1)),
   "for `recompute = \"stage_aware\"`: one value, or one a stage"},
  {"parallel", "sequence_parallel",
   at<&C::parallel, &P::sequence_parallel>, only({"\"auto\"", "false"}),
   "split the sequence between tensor-parallel regions"},
  {"parallel", "tensor_overlap", at<&C::parallel, &P::tensor_overlap>,
   only({"1"}, at_least(1)), "sub-micro-batches in flight; 2 overlaps"},
  {"parallel", "zero_stage", at<&C::parallel, &P::zero_stage>,
   only({"0"}, between(0, 3)),
   "shard optimizer state (1), gradients (2), parameters (3) over data ranks"},
  {"parallel", "memory_limit", at<&C::parallel, &P::memory_limit>,
   size_limit(), "per rank, such as `\"8GiB\"`; empty: the device's"},

  {"parallel.features", "column",
   at<&C::parallel, &P::features, &F::column>, only({"[]"}),
   "name patterns of weights split by columns"},
  {"parallel.features", "row",
   at<&C::parallel, &P::features, &F::row>, only({"[]"}),
   "name patterns of weights split by rows"},
  {"parallel.features", "replicate",
   at<&C::parallel, &P::features, &F::replicate>, only({"[]"}),
   "name patterns of weights kept whole"},

  {"checkpoint", "every", at<&C::checkpoint, &K::every>, count(0),
   "steps between checkpoints; 0: none"},
  {"checkpoint", "keep", at<&C::checkpoint, &K::keep>, count(1),
   "newest checkpoints that stay"},
  {"checkpoint", "resume", at<&C::checkpoint, &K::resume>, any(),
   "`\"auto\"`: from the newest complete checkpoint in the run folder, if "
   "any; `\"never\"`; or a path, which must be a sound checkpoint"},

  {"run", "dir", at<&C::run, &R::dir>, any(),
   "run folder. Default: `runs/` and the configuration file's name"},
  {"run", "trace_steps", at<&C::run, &R::trace_steps>, count(0),
   "steps, from 0, to record for `trace.json`"},
  {"run", "tensorboard", at<&C::run, &R::tensorboard>, any(),
   "write event files"},
  };
}
// clang-format on

const std::vector<Key>& table() {
  static const std::vector<Key> kKeys = make_keys();
  return kKeys;
}

std::string type_of(FieldOf<bool>) { return "true or false"; }
std::string type_of(FieldOf<std::int64_t>) { return "an integer"; }
std::string type_of(FieldOf<double>) { return "a number"; }
std::string type_of(FieldOf<std::string>) { return "a string"; }
std::string type_of(FieldOf<AutoInt>) { return "an integer or \"auto\""; }
std::string type_of(FieldOf<AutoBool>) { return "true, false or \"auto\""; }
std::string type_of(FieldOf<std::vector<std::int64_t>>) {
  return "a list of integers";
}
std::string type_of(FieldOf<std::vector<double>>) {
  return "a list of numbers";
}
std::string type_of(FieldOf<std::vector<std::string>>) {
  return "a list of strings";
}
std::string type_of(FieldOf<nlohmann::json>) { return "a table"; }

// 100000, not 1e+05.
std::string number_text(double value) {
  if (std::abs(value) < 1e15 && std::trunc(value) == value) {
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{}", value);
}

std::string range_text(const Rule& rule) {
  const bool low = rule.least > -std::numeric_limits<double>::infinity();
  const bool high = rule.most < std::numeric_limits<double>::infinity();
  if (low && high && !rule.least_excluded && !rule.most_excluded) {
    return fmt::format("from {} to {}", number_text(rule.least),
                       number_text(rule.most));
  }
  std::vector<std::string> parts;
  if (low) {
    parts.push_back(fmt::format("{} {}",
                                rule.least_excluded ? "above" : "at least",
                                number_text(rule.least)));
  }
  if (high) {
    parts.push_back(fmt::format("{} {}",
                                rule.most_excluded ? "below" : "at most",
                                number_text(rule.most)));
  }
  return join(parts, " and ");
}

}  // namespace

std::span<const Key> keys() { return table(); }

const Key* find_key(std::string_view path) {
  for (const Key& key : keys()) {
    if (key.path() == path) return &key;
  }
  return nullptr;
}

std::vector<std::string> sections() {
  std::vector<std::string> result;
  for (const Key& key : keys()) {
    if (result.empty() || result.back() != key.section) {
      result.push_back(key.section);
    }
  }
  return result;
}

std::string type_text(const Key& key) {
  return std::visit([](auto field) { return type_of(field); }, key.field);
}

std::string rule_text(const Rule& rule) {
  std::vector<std::string> parts;
  if (rule.length > 0) parts.push_back(fmt::format("{} values", rule.length));
  if (std::string range = range_text(rule); !range.empty()) {
    parts.push_back(rule.length > 0 ? "each " + range : range);
  }
  if (rule.is_size) parts.emplace_back("a size such as \"8GiB\"");
  if (!rule.choices.empty()) {
    parts.push_back("one of " + join(rule.choices, ", "));
  }
  if (rule.may_be_file) parts.emplace_back("or a file");
  return join(parts, ", ");
}

std::string value_text(const Key& key, const Config& config) {
  // Fields read and write; reading does not touch the object.
  auto& mutable_config = const_cast<Config&>(config);
  return std::visit(
      [&](auto field) { return toml_text(field(mutable_config)); }, key.field);
}

}  // namespace merak::config
