// GPT-2 as Hugging Face's GPT2LMHeadModel computes it, names and all.
#pragma once

#include "merak/models/gpt2/config.h"
#include "merak/models/model.h"

namespace merak::models::gpt2 {

ModelSpec make_spec(const nlohmann::ordered_json& config,
                    const std::string& origin);

}  // namespace merak::models::gpt2
