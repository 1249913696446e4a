#include "merak/config/parse.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <type_traits>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/str.h"
#include "merak/config/text.h"

namespace merak::config {
namespace {

// ---- values ----------------------------------------------------------------

// `path` is for the error: "demo.toml:3: model.config.x".
nlohmann::json to_json(const toml::node& node, const std::string& path);

nlohmann::json to_json(const toml::table& table, const std::string& path) {
  auto object = nlohmann::json::object();
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    object[name] = to_json(value, fmt::format("{}.{}", path, name));
  }
  return object;
}

nlohmann::json to_json(const toml::node& node, const std::string& path) {
  if (const auto* table = node.as_table()) return to_json(*table, path);
  if (const auto* array = node.as_array()) {
    auto result = nlohmann::json::array();
    for (const auto& element : *array) {
      result.push_back(to_json(element, path));
    }
    return result;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  fail_usage("{} is a date or time; config.json has none: quote it", path);
}

// Each returns false if the node is of another type.
bool assign(nlohmann::json&, const toml::node&) { return false; }
bool assign(bool& target, const toml::node& node) {
  const auto* value = node.as_boolean();
  if (value != nullptr) target = value->get();
  return value != nullptr;
}
bool assign(std::int64_t& target, const toml::node& node) {
  const auto* value = node.as_integer();
  if (value != nullptr) target = value->get();
  return value != nullptr;
}
bool assign(double& target, const toml::node& node) {
  const auto value = node.value<double>();
  if (!node.is_number() || !value) return false;
  target = *value;
  return true;
}
bool assign(std::string& target, const toml::node& node) {
  const auto* value = node.as_string();
  if (value != nullptr) target = value->get();
  return value != nullptr;
}
template <typename T>
bool assign(Auto<T>& target, const toml::node& node) {
  if (const auto* word = node.as_string()) {
    target = {};
    return word->get() == "auto";
  }
  T value{};
  if (!assign(value, node)) return false;
  target = value;
  return true;
}
template <typename T>
bool assign(std::vector<T>& target, const toml::node& node) {
  const auto* array = node.as_array();
  if (array == nullptr) return false;
  target.assign(array->size(), T{});
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (!assign(target[i], (*array)[i])) return false;
  }
  return true;
}
std::string found_text(const toml::node& node) {
  std::ostringstream stream;
  node.visit([&](const auto& value) {
    using Node = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Node, toml::value<std::string>>) {
      stream << toml_text(value.get());
    } else {
      stream << value;
    }
  });
  std::string text = stream.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  switch (node.type()) {
    case toml::node_type::string:
      return text + " (a string)";
    case toml::node_type::integer:
      return text + " (an integer)";
    case toml::node_type::floating_point:
      return text + " (a float)";
    case toml::node_type::boolean:
      return text + " (a boolean)";
    case toml::node_type::array:
      return text + " (a list)";
    case toml::node_type::table:
      return text + " (a table)";
    default:
      return text + " (a date or time)";
  }
}

// What a value of the right type looks like: the key's default, or made from
// the wrong one.
std::string example(const Key& key, const toml::node& node) {
  if (std::holds_alternative<FieldOf<std::vector<std::string>>>(key.field)) {
    const auto* text = node.as_string();
    return fmt::format("[{}]",
                       text != nullptr ? toml_text(text->get()) : "\"...\"");
  }
  const auto value = node.value<double>();
  if (node.is_floating_point() && value && std::abs(*value) < 1e15 &&
      std::trunc(*value) == *value) {
    return toml_text(static_cast<std::int64_t>(*value));
  }
  if (std::holds_alternative<FieldOf<nlohmann::json>>(key.field)) {
    return "{ n_layer = 4 }";
  }
  const std::string standard = value_text(key, Config{});
  return standard == "[]" ? "[0, 1]" : standard;
}

// ---- names -----------------------------------------------------------------

std::vector<std::string> names_in(const std::string& section) {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    if (key.section == section) names.push_back(key.name);
  }
  return names;
}

// ": did you mean ...?" for a key that is not in the table.
std::string suggestion(const std::string& section, const std::string& name) {
  const auto known = names_in(section);
  if (auto meant = nearest(name, known)) {
    return fmt::format("did you mean {}.{}?", section, *meant);
  }
  std::vector<std::string> all;
  for (const Key& key : keys()) {
    if (key.name == name) return "did you mean " + key.path() + "?";
    all.push_back(key.name);
  }
  if (section == "model") {
    return "keys of Hugging Face's config.json belong in [model.config]";
  }
  if (!known.empty()) {
    return fmt::format("[{}] has {}", section, join(known, ", "));
  }
  if (auto meant = nearest(section, sections())) {
    return fmt::format("did you mean [{}]?", *meant);
  }
  if (auto meant = nearest(name, all)) {
    for (const Key& key : keys()) {
      if (key.name == *meant) return "did you mean " + key.path() + "?";
    }
  }
  return "sections are " + join(sections(), ", ");
}

bool is_section(const std::string& path) {
  const auto all = sections();
  return std::find(all.begin(), all.end(), path) != all.end();
}

// ---- reading ---------------------------------------------------------------

// A value as written: a key of the table, or a name that is none.
struct Entry {
  std::string section;
  std::string name;
  const toml::node* node;
  toml::source_position position;

  std::string path() const {
    return section.empty() ? name : section + "." + name;
  }
};

// All entries below a table. Sections are walked; everything else, known or
// not, is an entry.
void collect(const toml::table& table, const std::string& section,
             std::vector<Entry>& entries) {
  for (const auto& [key, node] : table) {
    Entry entry{section, std::string(key.str()), &node, key.source().begin};
    const auto* inner = node.as_table();
    if (inner != nullptr && is_section(entry.path())) {
      collect(*inner, entry.path(), entries);
    } else {
      entries.push_back(std::move(entry));
    }
  }
}

[[noreturn]] void fail_unknown(const Entry& entry, const std::string& place) {
  if (is_section(entry.path())) {
    fail_usage("{}: {} is {}; it must be a section, [{}]", place, entry.path(),
               found_text(*entry.node), entry.path());
  }
  if (entry.node->is_table()) {
    const auto meant = nearest(entry.path(), sections());
    fail_usage("{}: unknown section [{}]; {}", place, entry.path(),
               meant ? fmt::format("did you mean [{}]?", *meant)
                     : "sections are " + join(sections(), ", "));
  }
  fail_usage("{}: unknown key {}; {}", place, entry.path(),
             suggestion(entry.section, entry.name));
}

void put(const Key& key, const toml::node& node, const std::string& place,
         Config& config) {
  const auto* free_form = std::get_if<FieldOf<nlohmann::json>>(&key.field);
  const auto* table = node.as_table();
  if (free_form != nullptr && table != nullptr) {
    const auto object = to_json(*table, place + ": " + key.path());
    (*free_form)(config).update(object, /*merge_objects=*/true);
    return;
  }
  const bool fits = std::visit(
      [&](auto field) { return assign(field(config), node); }, key.field);
  if (fits) return;
  fail_usage("{}: {} is {}; it must be {}, such as {}", place, key.path(),
             found_text(node), type_text(key), example(key, node));
}

// Puts one entry in its place. `raw` is the text of an override's value.
void apply(const Entry& entry, const std::string& place, Loaded& loaded,
           const std::string* raw = nullptr) {
  const Key* key = find_key(entry.path());
  if (key == nullptr) fail_unknown(entry, place);
  const bool holds_string =
      std::holds_alternative<FieldOf<std::string>>(key->field);
  if (raw != nullptr && holds_string && !entry.node->is_string()) {
    std::get<FieldOf<std::string>>(key->field)(loaded.config) = *raw;
  } else {
    put(*key, *entry.node, place, loaded.config);
  }
  loaded.origins[key->path()] = place;
  check_key(*key, loaded.config, loaded.origins);
}

toml::table parse_toml(std::string_view text, std::string_view name) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    std::string reason(error.description());
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    fail_usage("{}:{}: not valid TOML: {}", name, error.source().begin.line,
               reason);
  }
}

void apply_file(std::string_view text, std::string_view name, Loaded& loaded) {
  const toml::table table = parse_toml(text, name);
  std::vector<Entry> entries;
  collect(table, "", entries);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) {
                     return std::pair(a.position.line, a.position.column) <
                            std::pair(b.position.line, b.position.column);
                   });
  for (const Entry& entry : entries) {
    apply(entry, fmt::format("{}:{}", name, entry.position.line), loaded);
  }
}

// "a.b=c": as TOML if it is that, else with c as a string.
toml::table parse_override(const std::string& text, const std::string& raw) {
  try {
    toml::table table = toml::parse(text);
    // A line end inside the value could start a second key.
    if (text.find('\n') == std::string::npos) return table;
  } catch (const toml::parse_error&) {
  }
  const std::string key = text.substr(0, text.find('='));
  return parse_toml(key + "=" + toml_text(raw), "--set " + text);
}

void apply_override(const std::string& text, Loaded& loaded) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || trim(text.substr(0, equals)).empty()) {
    fail_usage(
        "--set {}: it must be section.key=value, such as "
        "train.steps=100",
        text);
  }
  const std::string raw(trim(text.substr(equals + 1)));
  const toml::table table = parse_override(text, raw);
  std::vector<Entry> entries;
  collect(table, "", entries);
  const bool single = entries.size() == 1;
  for (const Entry& entry : entries) {
    apply(entry, "--set", loaded, single ? &raw : nullptr);
  }
}

// Defaults that follow other keys, for keys that nobody wrote.
void fill_defaults(Loaded& loaded) {
  Config& config = loaded.config;
  const auto unset = [&](const char* path) {
    return !loaded.origins.contains(path);
  };
  if (unset("lr_schedule.min_lr") && !unset("optimizer.lr")) {
    config.lr_schedule.min_lr = config.optimizer.lr / 10;
  }
  if (unset("lr_schedule.warmup_steps")) {
    config.lr_schedule.warmup_steps =
        std::min(config.lr_schedule.warmup_steps, config.train.steps / 10);
  }
  if (unset("data.tokenizer") && !config.model.path.empty()) {
    const auto beside =
        std::filesystem::path(config.model.path) / "tokenizer.json";
    std::error_code ignored;
    if (std::filesystem::exists(beside, ignored)) {
      config.data.tokenizer = beside.string();
    }
  }
}

}  // namespace

Loaded parse_config(std::string_view text, std::string_view name,
                    std::span<const std::string> overrides, ModelFrom model) {
  Loaded loaded;
  const std::string stem = std::filesystem::path(name).stem().string();
  if (!stem.empty()) loaded.config.run.dir = "runs/" + stem;
  apply_file(text, name, loaded);
  for (const std::string& text_of_set : overrides) {
    apply_override(text_of_set, loaded);
  }
  fill_defaults(loaded);
  check(loaded.config, loaded.origins, model);
  return loaded;
}

Loaded load_config(const std::filesystem::path& file,
                   std::span<const std::string> overrides, ModelFrom model) {
  return parse_config(read_file(file), file.string(), overrides, model);
}

}  // namespace merak::config
