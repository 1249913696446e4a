// From a TOML file and overrides to a checked Config.
//
// Values are taken in the order in which they are written, then the overrides
// in theirs; the first wrong one is the error (check.h says how it reads).
// Unknown keys are errors that suggest the nearest known one.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "merak/config/check.h"
#include "merak/config/config.h"

namespace merak::config {

struct Loaded {
  Config config;
  Origins origins;  // for check_training() and messages of your own
};

// `overrides` are as after --set: "train.steps=20", "model.config.n_layer=4",
// "parallel.schedule=1f1b". The value is TOML; what is not TOML (a bare word)
// is a string, and so is everything given to a key that holds a string.
Loaded load_config(const std::filesystem::path& file,
                   std::span<const std::string> overrides = {},
                   ModelFrom model = ModelFrom::kConfig);

// The same from text; `name` stands for the file in messages.
Loaded parse_config(std::string_view text, std::string_view name,
                    std::span<const std::string> overrides = {},
                    ModelFrom model = ModelFrom::kConfig);

}  // namespace merak::config
