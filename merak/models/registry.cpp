#include "merak/models/registry.h"

#include <array>
#include <string_view>

#include "merak/base/error.h"
#include "merak/models/gpt2/gpt2.h"

namespace merak::models {
namespace {

struct Row {
  std::string_view model_type;
  ModelSpec (*make)(const nlohmann::ordered_json&, const std::string&);
};

constexpr std::array<Row, 1> kModels = {{{"gpt2", &gpt2::make_spec}}};

}  // namespace

ModelSpec make_spec(const nlohmann::ordered_json& config,
                    const std::string& origin) {
  const std::string type = config.value("model_type", "");
  std::string known;
  for (const Row& row : kModels) {
    if (row.model_type == type) return row.make(config, origin);
    if (!known.empty()) known += ", ";
    known += row.model_type;
  }
  fail_usage("{}: model_type '{}' is not in the model zoo; known are: {}",
             origin, type, known);
}

}  // namespace merak::models
