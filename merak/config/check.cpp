#include "merak/config/check.h"

#include <algorithm>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/config/text.h"

namespace merak::config {
namespace {

// The start of a message: "demo.toml:12: ", or nothing for a default.
std::string where(const Origins& origins, const std::string& path) {
  const auto origin = origins.find(path);
  return origin == origins.end() ? "" : origin->second + ": ";
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool in_range(const Rule& rule, double value) {
  const bool low =
      rule.least_excluded ? value > rule.least : value >= rule.least;
  const bool high = rule.most_excluded ? value < rule.most : value <= rule.most;
  return low && high && value - value == 0;  // not nan, not infinite
}

// Overloads by type: do the numbers in a value lie in the range?
bool numbers_fit(const Rule&, bool) { return true; }
bool numbers_fit(const Rule&, const std::string&) { return true; }
bool numbers_fit(const Rule&, const AutoBool&) { return true; }
bool numbers_fit(const Rule&, const std::vector<std::string>&) { return true; }
bool numbers_fit(const Rule&, const nlohmann::json& value) {
  return value.is_object();
}
bool numbers_fit(const Rule& rule, std::int64_t value) {
  return in_range(rule, static_cast<double>(value));
}
bool numbers_fit(const Rule& rule, double value) {
  return in_range(rule, value);
}
bool numbers_fit(const Rule& rule, const AutoInt& value) {
  return value.is_auto() || numbers_fit(rule, value.value());
}
template <typename T>
bool numbers_fit(const Rule& rule, const std::vector<T>& values) {
  return (rule.length == 0 || values.size() == rule.length) &&
         std::all_of(values.begin(), values.end(),
                     [&](T value) { return numbers_fit(rule, value); });
}

// Is a string, given as TOML text, one of the choices or of the right form?
bool word_fits(const Rule& rule, const std::string& text) {
  if (rule.is_size) {
    const std::string inside = text.substr(1, text.size() - 2);
    return inside.empty() || parse_bytes(inside).has_value();
  }
  if (rule.choices.empty() || contains(rule.choices, text)) return true;
  return rule.may_be_file && text.find_first_of("./") != std::string::npos;
}

[[noreturn]] void fail_rule(const Key& key, const std::string& text,
                            const Origins& origins) {
  std::string hint;
  const std::string standard = value_text(key, Config{});
  if (!key.rule.choices.empty()) {
    if (auto meant = nearest(text, key.rule.choices)) {
      hint = "; did you mean " + *meant + "?";
    }
  } else if (standard == "\"auto\"") {
    hint = ", or \"auto\"";
  } else if (standard != "[]" && standard != "\"\"") {
    hint = ", such as " + standard;
  }
  fail_usage("{}{} is {}; it must be {}{}", where(origins, key.path()),
             key.path(), text, rule_text(key.rule), hint);
}

[[noreturn]] void fail_planned(const std::string& place,
                               const std::string& what,
                               const std::vector<std::string>& supported) {
  fail_usage("{}{} is not supported yet; supported: {}", place, what,
             join(supported, ", "));
}

// ---- rules between keys ----------------------------------------------------

void check_model(const Config& config, const Origins& origins) {
  const ModelConfig& model = config.model;
  if (model.path.ends_with(".pt2")) {
    fail_planned(
        where(origins, "model.path"),
        fmt::format("model.path = {} (a .pt2 file)", toml_text(model.path)),
        {"a Hugging Face folder", "[model.config] alone"});
  }
  if (model.path.empty() && !model.config.contains("model_type")) {
    fail_usage(
        "model.path is missing; it must name a folder with config.json, or "
        "[model.config] must have a model_type, such as \"gpt2\"");
  }
  if (model.init == "pretrained" && model.path.empty()) {
    fail_usage(
        "{}model.init is \"pretrained\", but there is no model.path to load "
        "weights from; name the folder, or take \"random\"",
        where(origins, "model.init"));
  }
}

void check_own_model(const Config& config, const Origins& origins) {
  const ModelConfig& model = config.model;
  if (!model.path.empty()) {
    fail_usage(
        "{}model.path is {}, but this program trains a model of its own; leave "
        "it out, or train the folder's with merak train",
        where(origins, "model.path"), toml_text(model.path));
  }
  if (model.init != "random") {
    fail_usage(
        "{}model.init is {}, but this program trains a model of its own; its "
        "constructor gives the initial values: leave it out, or take "
        "\"random\"",
        where(origins, "model.init"), toml_text(model.init));
  }
  if (!model.loss.empty()) {
    fail_usage(
        "{}model.loss is {}, but this program gives its model's loss itself; "
        "leave it out",
        where(origins, "model.loss"), toml_text(model.loss));
  }
}

// The micro-batch sizes that divide a data rank's share.
std::string divisors_text(std::int64_t share) {
  std::vector<std::string> parts;
  for (std::int64_t d = 1; d <= share && d <= 1024 && parts.size() < 6; ++d) {
    if (share % d == 0) parts.push_back(toml_text(d));
  }
  return join(parts, ", ");
}

void check_batch(const Config& config, const Origins& origins) {
  const std::int64_t global = config.train.global_batch_size;
  const std::int64_t data = config.parallel.data.value_or(1);
  if (global % data != 0) {
    const std::int64_t below = global / data * data;
    fail_usage(
        "{}train.global_batch_size is {}; it must be a multiple of "
        "parallel.data = {}: {}{} would work",
        where(origins, "train.global_batch_size"), global, data,
        below > 0 ? fmt::format("{} or ", below) : "", below + data);
  }
  if (config.train.micro_batch_size.is_auto()) return;
  const std::int64_t micro = config.train.micro_batch_size.value();
  const std::int64_t share = global / data;
  if (share % micro == 0) return;
  fail_usage(
      "{}train.micro_batch_size is {}; global_batch_size / data = {} / {} = {} "
      "is not a multiple of it: {} would work",
      where(origins, "train.micro_batch_size"), micro, global, data, share,
      divisors_text(share));
}

void check_evaluation(const Config& config, const Origins& origins) {
  if (config.train.eval_every == 0 || !config.data.validation.empty()) return;
  fail_usage(
      "{}train.eval_every is {}, but data.validation is empty; name "
      "validation files, or set eval_every = 0",
      where(origins, "train.eval_every"), config.train.eval_every);
}

void check_steps(const Config& config, const Origins& origins) {
  const std::int64_t steps = config.train.steps;
  if (config.lr_schedule.warmup_steps > steps) {
    fail_usage(
        "{}lr_schedule.warmup_steps is {}; it must be at most train.steps = "
        "{}",
        where(origins, "lr_schedule.warmup_steps"),
        config.lr_schedule.warmup_steps, steps);
  }
  if (config.lr_schedule.min_lr > config.optimizer.lr) {
    fail_usage(
        "{}lr_schedule.min_lr is {}; it must be at most optimizer.lr = "
        "{}",
        where(origins, "lr_schedule.min_lr"), config.lr_schedule.min_lr,
        config.optimizer.lr);
  }
  for (std::int64_t step : config.run.trace_steps) {
    if (step < steps) continue;
    fail_usage(
        "{}run.trace_steps has {}; steps count from 0, the last one of "
        "train.steps = {} is {}",
        where(origins, "run.trace_steps"), step, steps, steps - 1);
  }
}

void check_partition(const Config& config, const Origins& origins) {
  const auto& first = config.parallel.custom_partition;
  const bool custom = config.parallel.partition == "custom";
  if (custom && first.empty()) {
    fail_usage(
        "{}parallel.partition is \"custom\", but parallel.custom_partition is "
        "empty; give the first shard of each stage, such as [0, 3]",
        where(origins, "parallel.partition"));
  }
  const std::string place = where(origins, "parallel.custom_partition");
  const std::string text = toml_text(first);
  if (!custom && !first.empty()) {
    fail_usage(
        "{}parallel.custom_partition is {}, but parallel.partition is \"{}\"; "
        "set partition = \"custom\", or leave the list empty",
        place, text, config.parallel.partition);
  }
  if (!custom) return;
  const bool ascends =
      std::adjacent_find(first.begin(), first.end(), std::greater_equal<>()) ==
      first.end();
  if (first[0] != 0 || !ascends) {
    fail_usage(
        "{}parallel.custom_partition is {}; it must start with 0 and ascend, "
        "such as [0, 3, 6]",
        place, text);
  }
  const auto stages = config.parallel.pipeline.value_or(
      static_cast<std::int64_t>(first.size()));
  if (stages != static_cast<std::int64_t>(first.size())) {
    fail_usage(
        "{}parallel.custom_partition has {} stages; it must have one entry for "
        "each of parallel.pipeline = {}",
        place, first.size(), stages);
  }
}

void check_sharding(const Config& config, const Origins& origins) {
  const auto& points = config.parallel.split_points;
  if (points.empty() || config.parallel.sharding == "layer_split") return;
  fail_usage(
      "{}parallel.split_points is {}, but parallel.sharding is \"{}\"; set "
      "sharding = \"layer_split\", or leave the list empty",
      where(origins, "parallel.split_points"), toml_text(points),
      config.parallel.sharding);
}

bool is_text(const std::string& pattern) {
  return pattern.ends_with(".txt") || pattern.ends_with(".jsonl");
}

}  // namespace

void check_key(const Key& key, const Config& config, const Origins& origins) {
  const Rule& rule = key.rule;
  const std::string text = value_text(key, config);
  const bool fits = std::visit(
      [&](auto field) {
        return numbers_fit(rule, field(const_cast<Config&>(config)));
      },
      key.field);
  if (!fits || !word_fits(rule, text)) fail_rule(key, text, origins);
  if (!rule.supported.empty() && !contains(rule.supported, text)) {
    const bool known = rule.choices.empty() || contains(rule.choices, text);
    fail_planned(
        where(origins, key.path()),
        fmt::format("{} = {}{}", key.path(), text, known ? "" : " (a file)"),
        rule.supported);
  }
}

void check(const Config& config, const Origins& origins, ModelFrom model) {
  for (const Key& key : keys()) check_key(key, config, origins);
  if (model == ModelFrom::kConfig) {
    check_model(config, origins);
    check_evaluation(config, origins);
  } else {
    check_own_model(config, origins);
  }
  check_batch(config, origins);
  check_steps(config, origins);
  check_sharding(config, origins);
  check_partition(config, origins);
}

void check_training(const Config& config, const Origins& origins) {
  const DataConfig& data = config.data;
  if (data.train.empty()) {
    fail_usage(
        "{}data.train is missing; it must list files to train on, such "
        "as [\"corpus/*.txt\"]",
        where(origins, "data.train"));
  }
  const bool text = std::any_of(data.train.begin(), data.train.end(), is_text);
  if (text && data.tokenizer.empty()) {
    fail_usage(
        "data.tokenizer is missing, and data.train has text; name a "
        "tokenizer.json or a SentencePiece .model, or take \"bytes\"");
  }
}

}  // namespace merak::config
