// A value of a JSON file together with where it stands, so that every error
// names the file and the field: "t.json: model.type is \"Unigram\"; supported:
// \"BPE\"".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace merak::data {

// Refers to the document, which must outlive it.
class JsonField {
 public:
  JsonField(std::string file, const nlohmann::json& root)
      : file_(std::move(file)), value_(&root) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& file() const { return file_; }
  std::string where() const;  // "t.json: pre_tokenizer.pattern"

  // A member of an object; null if it is absent or this is no object.
  JsonField get(const char* key) const;
  JsonField child(const std::string& key, const nlohmann::json& value) const;

  // Usage errors unless the value is of that kind.
  std::vector<JsonField> elements() const;
  std::string text() const;
  bool flag(bool when_absent) const;
  std::int32_t token_id() const;

  [[noreturn]] void refuse(std::string_view supported) const;

 private:
  std::string file_;
  std::string path_;
  const nlohmann::json* value_;
};

}  // namespace merak::data
