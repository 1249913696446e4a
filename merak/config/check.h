// What a configuration's values must obey: each key its rule (keys.h), and the
// rules between keys.
//
// All failures are usage errors of one line: where the value was written, the
// key, the value, the rule, and what would work. What is planned but not there
// yet answers "... is not supported yet".
#pragma once

#include <map>
#include <string>

#include "merak/config/keys.h"

namespace merak::config {

// Where each key that is not a default was written: "demo.toml:12", "--set".
using Origins = std::map<std::string, std::string>;

// One key against its own rule.
void check_key(const Key& key, const Config& config, const Origins& origins);

// Who brings the model: the configuration's [model], or a program with a module
// of its own (merak/api), whose [model.config] may hold any keys or none, and
// which may bring data too.
enum class ModelFrom { kConfig, kProgram };

// All keys, in the order of the table, then the rules between them. `origins`
// may be empty: a configuration built in code.
void check(const Config& config, const Origins& origins = {},
           ModelFrom model = ModelFrom::kConfig);

// What only training needs: data to train on, and a tokenizer if it is text.
void check_training(const Config& config, const Origins& origins = {});

}  // namespace merak::config
