#include "merak/config/reference.h"

#include "merak/base/str.h"
#include "merak/config/keys.h"

namespace merak::config {
namespace {

constexpr const char* kIntroduction =
    R"(# Configuration

A run is described by one TOML file. `--set section.key=value` (repeatable)
overrides it: the value is TOML, and what is not TOML, such as a bare word, is
a string: `--set train.steps=20 --set parallel.schedule=1f1b
--set model.config.n_layer=4`.

Unknown keys, wrong types and values out of range are errors that name the line
and what would work. The resolved configuration is saved in the run folder as
`config.toml` and can be used again as it is. Paths are relative to the working
directory, like those of a command line, not to the file's folder.

This page is made from the program's table of keys:
`build/release/config_reference > docs/configuration.md`.
)";

constexpr const char* kBetweenKeys = R"(
## Rules between keys

- `train.global_batch_size` is a multiple of `parallel.data` x
  `train.micro_batch_size`.
- `lr_schedule.warmup_steps` is at most `train.steps`, `lr_schedule.min_lr` at
  most `optimizer.lr`, every one of `run.trace_steps` below `train.steps`.
- `train.eval_every` needs `data.validation`.
- `model.init = "pretrained"` needs `model.path`.
- `parallel.custom_partition` goes with `parallel.partition = "custom"`, starts
  with 0, ascends, and has one entry a stage.
- `parallel.split_points` goes with `parallel.sharding = "layer_split"`.
- `parallel.data` x `parallel.tensor` x `parallel.pipeline` is the number of
  ranks.
)";

// A cell of a Markdown table: '|' would end it.
std::string cell(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string values_cell(const Key& key) {
  const Rule& rule = key.rule;
  std::string text = rule_text(rule);
  if (rule.choices.empty()) {
    text = type_text(key) + (text.empty() ? "" : ", " + text);
  }
  if (!rule.supported.empty()) {
    text += ". Supported now: " + join(rule.supported, ", ");
  }
  return text;
}

std::string default_cell(const Key& key) {
  if (std::holds_alternative<FieldOf<nlohmann::json>>(key.field)) return "";
  return code(value_text(key, Config{}));
}

}  // namespace

std::string reference_page() {
  std::string page = kIntroduction;
  for (const std::string& section : sections()) {
    page += fmt::format(
        "\n## [{}]\n\n| key | default | values | meaning "
        "|\n|---|---|---|---|\n",
        section);
    for (const Key& key : keys()) {
      if (key.section != section) continue;
      page +=
          fmt::format("| {} | {} | {} | {} |\n", code(key.name),
                      default_cell(key), cell(values_cell(key)), cell(key.doc));
    }
  }
  return page + kBetweenKeys;
}

}  // namespace merak::config
