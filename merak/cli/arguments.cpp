#include "merak/cli/arguments.h"

#include "merak/config/layout.h"
#include "merak/dist/launch/cores.h"

#include <fmt/core.h>

#include <charconv>

namespace merak::cli {

void add_config(CLI::App& app, ConfigArguments& config) {
  app.add_option("CONFIG", config.file, "configuration (TOML)")->required();
  // One value each, or CONFIG after it would be taken for a second one.
  app.add_option("--set", config.set,
                 "section.key=value, over the file; repeatable")
      ->allow_extra_args(false);
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "print the result as JSON");
}

void add_output(CLI::App& app, std::string& output, const std::string& help) {
  app.add_option("-o,--output", output, help);
}

CLI::Validator within(double least, double most) {
  const bool open = most >= std::numeric_limits<std::int32_t>::max();
  const std::string rule = open ? fmt::format("at least {}", least)
                                : fmt::format("from {} to {}", least, most);
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        const bool number = parsed.ec == std::errc() && parsed.ptr == end;
        if (number && value >= least && value <= most) return std::string();
        return fmt::format("{} is not a number {}", text, rule);
      },
      "", "within");
}

std::int64_t local_world(int asked, const config::Config& config) {
  if (asked > 0) return asked;
  return config::default_world(
      config, static_cast<std::int64_t>(dist::allowed_cores().size()));
}

}  // namespace merak::cli
