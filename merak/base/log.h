// The log: lines for people on standard error and in the run folder's
// merak.log, each marked with its rank.
//
//   auto logger = make_logger({.prefix = rank_prefix(0, 1, 0),
//                              .file = run / "merak.log"});
//   spdlog::set_default_logger(logger);  // the program's choice
//   spdlog::info("step {}", step);
//
// writes "12:03:44.120 info [pp0 dp1 tp0] step 3".
//
// Every line is one write to a descriptor opened for appending, so that the
// ranks of a machine share one file (and one terminal) without tearing each
// other's lines, and nothing is lost in a buffer when a rank dies.
#pragma once

#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace merak {

struct LogOptions {
  std::string prefix;          // "[pp0 dp0 tp1]", or nothing
  std::filesystem::path file;  // appended to; empty: none
  bool to_stderr = true;
  // trace, debug, info, warn, error, off. Without one, the environment's
  // MERAK_LOG decides, else info.
  std::optional<std::string> level;
};

std::string rank_prefix(int pipeline, int data, int tensor);

// Usage error if a level's name is unknown; runtime error if the file cannot
// be opened.
std::shared_ptr<spdlog::logger> make_logger(const LogOptions& options);

}  // namespace merak
