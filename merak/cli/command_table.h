// Every command, once.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace merak::cli {

// What a command does once its arguments are parsed; returns an exit code.
using Action = std::function<int()>;

struct Command {
  const char* name;
  const char* help;  // a phrase for the list of commands
  // Declares the command's arguments. The action owns the parsed values.
  Action (*add)(CLI::App& app);
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);  // or null

}  // namespace merak::cli
