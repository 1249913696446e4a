#include "merak/config/write.h"

#include "merak/config/keys.h"
#include "merak/config/text.h"

namespace merak::config {

std::string to_toml(const Config& config) {
  std::string text;
  std::string section;
  for (const Key& key : keys()) {
    if (std::holds_alternative<FieldOf<nlohmann::json>>(key.field)) {
      if (config.model.config.empty()) continue;
      text += fmt::format("\n[{}]\n", key.path());
      for (const auto& [name, value] : config.model.config.items()) {
        text += fmt::format("{} = {}\n", toml_key(name), toml_text(value));
      }
      continue;
    }
    if (key.section != section) {
      section = key.section;
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    text += fmt::format("{} = {}\n", key.name, value_text(key, config));
  }
  return text;
}

}  // namespace merak::config
