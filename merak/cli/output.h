// Results, on standard output.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace merak::cli {

// As it is; the caller ends its lines.
void print(std::string_view text);

// Indented, with a line end. Text that is not UTF-8 gets replacement signs.
void print_json(const nlohmann::json& json);

// Everything printed has arrived, or a runtime error says why not: a full disk
// must not look like success.
void finish_output();

}  // namespace merak::cli
