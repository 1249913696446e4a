#include "merak/models/config_reader.h"

#include "merak/base/error.h"

namespace merak::models {

bool ConfigReader::has(const std::string& key) const {
  return config_.contains(key) && !config_.at(key).is_null();
}

void ConfigReader::reject(const std::string& key,
                          const std::string& rule) const {
  fail_usage("{}: '{}' is {}; {}", origin_, key,
             has(key) ? config_.at(key).dump() : "missing", rule);
}

std::int64_t ConfigReader::positive(const std::string& key,
                                    std::int64_t fallback) const {
  if (!has(key)) return fallback;
  const auto& value = config_.at(key);
  if (!value.is_number_integer() || value.get<std::int64_t>() <= 0) {
    reject(key, "it must be a positive integer");
  }
  return value.get<std::int64_t>();
}

double ConfigReader::number(const std::string& key, double fallback) const {
  if (!has(key)) return fallback;
  if (!config_.at(key).is_number()) reject(key, "it must be a number");
  return config_.at(key).get<double>();
}

double ConfigReader::probability(const std::string& key,
                                 double fallback) const {
  const double value = number(key, fallback);
  if (!(value >= 0 && value < 1)) reject(key, "it must lie in [0, 1)");
  return value;
}

double ConfigReader::positive_number(const std::string& key,
                                     double fallback) const {
  const double value = number(key, fallback);
  if (!(value > 0)) reject(key, "it must be positive");
  return value;
}

bool ConfigReader::flag(const std::string& key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!config_.at(key).is_boolean()) reject(key, "it must be true or false");
  return config_.at(key).get<bool>();
}

std::string ConfigReader::text(const std::string& key,
                               const std::string& fallback) const {
  if (!has(key)) return fallback;
  if (!config_.at(key).is_string()) reject(key, "it must be a string");
  return config_.at(key).get<std::string>();
}

}  // namespace merak::models
