#include "merak/data/tokens/documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "merak/base/error.h"

namespace merak::data {
namespace {

constexpr const char* kField = "text";

std::string text_of_line(std::string_view line, const std::string& path,
                         std::uint64_t number) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    fail_usage("{}:{}: not valid JSON at byte {} of the line", path, number,
               error.byte);
  }
  if (!value.is_object() || !value.contains(kField)) {
    fail_usage(
        "{}:{}: no field \"{}\"; a line is an object with the "
        "document's text in it",
        path, number, kField);
  }
  auto& text = value[kField];
  if (!text.is_string()) {
    fail_usage("{}:{}: \"{}\" is a {}; it must be a string", path, number,
               kField, text.type_name());
  }
  return std::move(text.get_ref<std::string&>());
}

}  // namespace

DocumentReader::DocumentReader(const InputFile& input)
    : input_(input), file_(input.path) {
  MERAK_CHECK(is_text(input.kind), "{} is not text", input.path.string());
}

bool DocumentReader::next(Document& document) {
  if (at_ == bytes().size()) return false;
  if (input_.kind == InputKind::kJsonLines) return next_line(document);
  at_ = bytes().size();
  document = Document(bytes());
  return true;
}

bool DocumentReader::next_line(Document& document) {
  while (at_ < bytes().size()) {
    const std::string_view rest = bytes().substr(at_);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    at_ = std::min<std::uint64_t>(at_ + line.size() + 1, bytes().size());
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string text = text_of_line(line, input_.path.string(), line_);
    if (text.empty()) continue;
    document = Document(std::move(text), line_);
    return true;
  }
  return false;
}

}  // namespace merak::data
