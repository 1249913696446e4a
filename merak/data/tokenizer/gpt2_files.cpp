#include "merak/data/tokenizer/gpt2_files.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/xxh64.h"
#include "merak/data/tokenizer/json_field.h"

namespace merak::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndOfText = "<|endoftext|>";

fs::path merges_beside(const fs::path& vocabulary) {
  const fs::path folder = vocabulary.parent_path();
  for (const char* name : {"merges.txt", "vocab.bpe"}) {
    if (path_exists(folder / name)) return folder / name;
  }
  fail_usage(
      "{}: beside it lies no merges.txt or vocab.bpe, which a GPT-2 "
      "vocabulary needs",
      vocabulary.string());
}

std::vector<std::pair<std::string, std::string>> parse_merges(
    const fs::path& path, std::string_view text) {
  std::vector<std::pair<std::string, std::string>> merges;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space != line.rfind(' ')) {
      fail_usage("{}:{}: \"{}\" is not two tokens with a space between",
                 path.string(), line_number, line);
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

}  // namespace

BpeParts read_gpt2_files(const fs::path& vocabulary) {
  const fs::path merges_path = merges_beside(vocabulary);
  const std::string text = read_file(vocabulary);
  const std::string merges = read_file(merges_path);
  const auto document = nlohmann::json::parse(text, nullptr, false);
  const JsonField root(vocabulary.string(), document);
  if (!document.is_object()) {
    fail_usage("{}: not a JSON object of token to id", vocabulary.string());
  }
  BpeParts parts;
  parts.tables.source = vocabulary.string();
  for (const auto& [token, id] : document.items()) {
    parts.tables.vocabulary.emplace(token, root.child(token, id).token_id());
  }
  parts.tables.merges = parse_merges(merges_path, merges);
  SplitStage stage;
  stage.pattern.emplace(kGpt2Pattern, Regex::Syntax::kOniguruma,
                        vocabulary.string());
  parts.stages.push_back(std::move(stage));
  const auto end = parts.tables.vocabulary.find(kEndOfText);
  if (end != parts.tables.vocabulary.end()) {
    AddedToken token;
    token.id = end->second;
    token.content = kEndOfText;
    parts.added_tokens.push_back(std::move(token));
    parts.end_of_text = kEndOfText;
  }
  parts.fingerprint = xxh64(merges, xxh64(text));
  return parts;
}

}  // namespace merak::data
