// docs/configuration.md, made from the table of keys.
#pragma once

#include <string>

namespace merak::config {

std::string reference_page();  // Markdown

}  // namespace merak::config
