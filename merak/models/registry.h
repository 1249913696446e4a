// The zoo: one table from HF's `model_type` to a model's folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "merak/models/spec.h"

namespace merak::models {

// From the contents of a config.json. Usage error for an unknown model_type or
// for keys that the model cannot honour; `origin` names the file or section in
// messages.
ModelSpec make_spec(const nlohmann::ordered_json& config,
                    const std::string& origin);

}  // namespace merak::models
