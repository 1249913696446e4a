#include "merak/data/tokenizer/json_field.h"

#include <limits>

#include "merak/base/error.h"

namespace merak::data {
namespace {

constexpr std::size_t kMaxShown = 60;

}  // namespace

std::string JsonField::where() const {
  return path_.empty() ? file_ : fmt::format("{}: {}", file_, path_);
}

JsonField JsonField::child(const std::string& key,
                           const nlohmann::json& value) const {
  JsonField field(file_, value);
  field.path_ = path_.empty() ? key : path_ + "." + key;
  return field;
}

JsonField JsonField::get(const char* key) const {
  static const nlohmann::json null;
  if (!value_->is_object()) return child(key, null);
  const auto found = value_->find(key);
  return child(key, found == value_->end() ? null : *found);
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_->is_array()) refuse("a list");
  std::vector<JsonField> fields;
  fields.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    JsonField field(file_, (*value_)[i]);
    field.path_ = fmt::format("{}[{}]", path_, i);
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string JsonField::text() const {
  if (!value_->is_string()) refuse("a string");
  return value_->get<std::string>();
}

bool JsonField::flag(bool when_absent) const {
  if (value_->is_null()) return when_absent;
  if (!value_->is_boolean()) refuse("true or false");
  return value_->get<bool>();
}

std::int32_t JsonField::token_id() const {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const bool whole = value_->is_number_integer();
  const auto id = whole ? value_->get<std::int64_t>() : -1;
  if (id < 0 || id > kMax) refuse("a token id, 0 or more");
  return static_cast<std::int32_t>(id);
}

void JsonField::refuse(std::string_view supported) const {
  if (value_->is_null()) {
    fail_usage("{} is missing or null; supported: {}", where(), supported);
  }
  std::string shown =
      value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (shown.size() > kMaxShown) shown = shown.substr(0, kMaxShown) + "...";
  fail_usage("{} is {}; supported: {}", where(), shown, supported);
}

}  // namespace merak::data
