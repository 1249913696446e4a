// A configuration as a TOML file: every key, resolved values and defaults
// alike, so that the file in a run folder says all that ran. It parses back to
// an equal Config.
#pragma once

#include <string>

#include "merak/config/config.h"

namespace merak::config {

std::string to_toml(const Config& config);

}  // namespace merak::config
