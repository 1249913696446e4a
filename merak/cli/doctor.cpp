#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/findings.h"
#include "merak/cli/output.h"

namespace merak::cli {
namespace {

bool is_missing(const Finding& finding) {
  return finding.status == Status::kMissing;
}

nlohmann::json to_json(const std::vector<Finding>& findings) {
  auto list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"name", finding.name},
                    {"status", name_of(finding.status)},
                    {"value", finding.value},
                    {"remedy", finding.remedy}});
  }
  const bool sound = std::none_of(findings.begin(), findings.end(), is_missing);
  return {{"ready", sound}, {"findings", list}};
}

std::string to_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8} {:<11} {}\n", name_of(finding.status),
                        finding.name, finding.value);
    if (!finding.remedy.empty()) {
      text += fmt::format("{:21}-> {}\n", "", finding.remedy);
    }
  }
  const auto missing =
      std::count_if(findings.begin(), findings.end(), is_missing);
  text += missing == 0 ? "ready to train\n"
                       : fmt::format("{} to mend before training\n", missing);
  return text;
}

}  // namespace

Action add_doctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  app.add_option("--dir", options->dir, "folder where runs are to lie")
      ->capture_default_str();
  add_json(app, options->json);
  return [options] { return doctor(*options); };
}

int doctor(const DoctorOptions& options) {
  const auto findings = find_all(process_variables(), options.dir);
  if (options.json) {
    print_json(to_json(findings));
  } else {
    print(to_text(findings));
  }
  return 0;
}

}  // namespace merak::cli
