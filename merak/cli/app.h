// The program `merak`: finds the command, runs it, and turns errors into one
// line on standard error and an exit code.
#pragma once

#include <string>

#include "merak/base/error.h"

namespace merak::cli {

// 0 done; 1 failed while running (or a bug of ours); 2 wrong use or
// configuration; 3 no plan fits. Commands themselves return 0, or 4 where
// `verify` found a difference.
int exit_code(ErrorKind kind);

// "merak: error: ..." in one line, whatever the message holds.
std::string error_line(const std::string& message);

// Writes that line; returns `code`.
int print_error(const std::string& message, int code);

// Never throws.
int run(int argc, const char* const* argv);

}  // namespace merak::cli
