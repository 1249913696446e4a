// Every key of the configuration, once: where it lives in Config, what values
// it takes, and what it means. The parser, its error messages and suggestions,
// the writer and docs/configuration.md all walk this table; a new key is a
// member in config.h and a row in keys.cpp. Defaults are Config's own.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "merak/config/config.h"

namespace merak::config {

template <typename T>
using FieldOf = T& (*)(Config&);

// A key's place in Config; the alternative is its type.
using Field =
    std::variant<FieldOf<bool>, FieldOf<std::int64_t>, FieldOf<double>,
                 FieldOf<std::string>, FieldOf<AutoInt>, FieldOf<AutoBool>,
                 FieldOf<std::vector<std::int64_t>>,
                 FieldOf<std::vector<double>>,
                 FieldOf<std::vector<std::string>>, FieldOf<nlohmann::json>>;

// Which values a key takes. Ranges hold for each element of a list. Values are
// kept as TOML text: "1", "\"gpipe\"", "[]".
struct Rule {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_excluded = false;
  bool most_excluded = false;
  std::size_t length = 0;              // of a list; 0: any
  bool is_size = false;                // a string of bytes: "8GiB"
  std::vector<std::string> choices;    // empty: any
  bool may_be_file = false;            // besides choices, a file's name
  std::vector<std::string> supported;  // by this version; empty: all of them
};

struct Key {
  std::string section;  // "parallel.features"
  std::string name;     // "column"
  Field field;
  Rule rule;
  std::string doc;  // a phrase; Markdown

  std::string path() const { return section + "." + name; }
};

std::span<const Key> keys();  // in the order of the reference page

// The key of a path such as "train.steps", or null.
const Key* find_key(std::string_view path);

// "model", "parallel.features", ...: in order, each once.
std::vector<std::string> sections();

std::string type_text(const Key& key);  // "an integer"

// The rule in words, "at least 1"; empty if the type says it all.
std::string rule_text(const Rule& rule);

// The key's value in `config` as TOML text.
std::string value_text(const Key& key, const Config& config);

}  // namespace merak::config
