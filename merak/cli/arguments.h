// Arguments that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <string>

#include "merak/cli/commands.h"

namespace merak::cli {

void add_config(CLI::App& app, ConfigArguments& config);  // CONFIG, --set
void add_json(CLI::App& app, bool& json);                 // --json
void add_output(CLI::App& app, std::string& output, const std::string& help);

// The ranks of a run on this host: `asked` if positive, else what the
// configuration and the cores make of it.
std::int64_t local_world(int asked, const config::Config& config);

// A check for option->check(): a number from least to most.
CLI::Validator within(double least,
                      double most = std::numeric_limits<std::int32_t>::max());

}  // namespace merak::cli
