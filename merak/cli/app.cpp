#include "merak/cli/app.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <sstream>
#include <vector>

#include "merak/base/log.h"
#include "merak/base/str.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"

namespace merak::cli {
namespace {

constexpr const char* kFooter =
    "Logs go to standard error, results to standard output.\n"
    "Exit codes: 0 done; 1 failed while running; 2 wrong use or "
    "configuration;\n3 no plan fits; 4 verify found a difference.";

std::string version() {
  return fmt::format("merak {} (LibTorch {})", MERAK_VERSION,
                     MERAK_TORCH_VERSION);
}

[[noreturn]] void fail_unknown_command(const std::string& typed) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  const auto meant = nearest(typed, names);
  fail_usage("unknown command {}; {}", typed,
             meant ? fmt::format("did you mean {}?", *meant)
                   : "commands are " + join(names, ", "));
}

// An argument that the command does not take, and the option that was meant.
[[noreturn]] void fail_extra(const CLI::App& command,
                             const std::string& extra) {
  const std::string typed = extra.substr(0, extra.find('='));
  if (!typed.starts_with("-")) {
    fail_usage("{} does not take the argument {}; see merak {} --help",
               command.get_name(), extra, command.get_name());
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const auto meant = nearest(typed, names);
  fail_usage("{} has no option {}; {}", command.get_name(), typed,
             meant ? fmt::format("did you mean {}?", *meant)
                   : "it has " + join(names, ", "));
}

// CLI11's failures in our form. Help and version are successes: printed here.
int finish_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;
    const int code = app.exit(error, text, text);
    print(text.str());
    return code;
  }
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    fail_usage("{}; see merak --help", error.what());
  }
  const CLI::App& command = *chosen.front();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const auto extras = command.remaining();
    if (!extras.empty()) fail_extra(command, extras.front());
  }
  fail_usage("{}: {}; see merak {} --help", command.get_name(), error.what(),
             command.get_name());
}

int dispatch(int argc, const char* const* argv) {
  CLI::App app("Trains neural networks with automated 3D parallelism.",
               "merak");
  app.set_version_flag("--version", version());
  app.footer(kFooter);
  app.require_subcommand(1);
  if (argc < 2) {
    fail_usage(
        "a command is missing, such as merak train CONFIG; see merak "
        "--help");
  }
  if (argv[1][0] != '-' && find_command(argv[1]) == nullptr) {
    fail_unknown_command(argv[1]);
  }
  Action action;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.help);
    sub->set_version_flag("--version", version());
    Action added = command.add(*sub);
    sub->final_callback([&action, added] { action = added; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = finish_parse(app, error);
    finish_output();
    return code;
  }
  spdlog::set_default_logger(make_logger({}));
  const int code = action();
  finish_output();
  return code;
}

}  // namespace

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kNoPlan:
      return 3;
    case ErrorKind::kRuntime:
    case ErrorKind::kInternal:
      return 1;
  }
  return 1;
}

std::string error_line(const std::string& message) {
  std::string line = "merak: error: " + std::string(trim(message));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; },
      ' ');
  return line + "\n";
}

int print_error(const std::string& message, int code) {
  const std::string line = error_line(message);
  // One write: ranks share the terminal. Nothing is left to do if it fails.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return code;
  return code;
}

int run(int argc, const char* const* argv) {
  try {
    return dispatch(argc, argv);
  } catch (const Error& error) {
    return print_error(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return print_error("out of memory", 1);
  } catch (const std::exception& error) {
    return print_error(error.what(), 1);
  }
}

}  // namespace merak::cli
