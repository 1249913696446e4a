// Reading a config.json with checks: each key by its type, its default and its
// rule, with errors that name file and key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace merak::models {

class ConfigReader {
 public:
  ConfigReader(const nlohmann::ordered_json& config, std::string origin)
      : config_(config), origin_(std::move(origin)) {}

  std::int64_t positive(const std::string& key, std::int64_t fallback) const;
  // A probability in [0, 1).
  double probability(const std::string& key, double fallback) const;
  double positive_number(const std::string& key, double fallback) const;
  bool flag(const std::string& key, bool fallback) const;
  std::string text(const std::string& key, const std::string& fallback) const;
  // Null counts as absent.
  bool has(const std::string& key) const;

  [[noreturn]] void reject(const std::string& key,
                           const std::string& rule) const;

 private:
  double number(const std::string& key, double fallback) const;

  const nlohmann::ordered_json& config_;
  std::string origin_;
};

}  // namespace merak::models
