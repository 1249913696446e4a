#include "merak/data/tokenizer/tokenizer_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/xxh64.h"
#include "merak/data/tokenizer/json_field.h"

namespace merak::data {
namespace {

using nlohmann::json;

// ---- model ------------------------------------------------------------------

void refuse_if_set(const JsonField& model, const char* key) {
  const JsonField field = model.get(key);
  const json& value = field.value();
  const bool unset = value.is_null() || value == "" || value == false ||
                     (value.is_number() && value == 0);
  if (!unset) field.refuse("null");
}

std::pair<std::string, std::string> merge_of(const JsonField& field) {
  const json& value = field.value();
  if (value.is_array() && value.size() == 2 && value[0].is_string() &&
      value[1].is_string()) {
    return {value[0].get<std::string>(), value[1].get<std::string>()};
  }
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && space == text.rfind(' ')) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  field.refuse("\"a b\" or [\"a\", \"b\"]");
}

BpeTables tables_of(const JsonField& model) {
  if (model.get("type").value().is_null()) {
    if (!model.get("merges").value().is_array()) model.refuse("type BPE");
  } else if (model.get("type").text() != "BPE") {
    model.get("type").refuse("\"BPE\"");
  }
  for (const char* key : {"dropout", "continuing_subword_prefix",
                          "end_of_word_suffix", "byte_fallback"}) {
    refuse_if_set(model, key);
  }
  BpeTables tables;
  tables.source = model.file();
  const JsonField vocabulary = model.get("vocab");
  if (!vocabulary.value().is_object()) vocabulary.refuse("an object");
  for (const auto& [token, id] : vocabulary.value().items()) {
    tables.vocabulary.emplace(token, vocabulary.child(token, id).token_id());
  }
  const JsonField merges = model.get("merges");
  for (const JsonField& merge : merges.elements()) {
    tables.merges.push_back(merge_of(merge));
  }
  if (!model.get("unk_token").value().is_null()) {
    tables.unknown_token = model.get("unk_token").text();
  }
  tables.fuse_unknown = model.get("fuse_unk").flag(false);
  tables.ignore_merges = model.get("ignore_merges").flag(false);
  return tables;
}

// ---- pre_tokenizer ----------------------------------------------------------

SplitBehavior behavior_of(const JsonField& field) {
  constexpr std::pair<const char*, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  for (const auto& [name, behavior] : kBehaviors) {
    if (field.text() == name) return behavior;
  }
  field.refuse(
      "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

SplitStage split_stage(const JsonField& split) {
  const JsonField pattern = split.get("pattern");
  SplitStage stage;
  if (!pattern.get("Regex").value().is_null()) {
    const JsonField regex = pattern.get("Regex");
    stage.pattern.emplace(regex.text(), Regex::Syntax::kOniguruma,
                          regex.where());
  } else {
    const JsonField literal = pattern.get("String");
    stage.pattern.emplace(literal.text(), Regex::Syntax::kLiteral,
                          literal.where());
  }
  stage.behavior = behavior_of(split.get("behavior"));
  stage.invert = split.get("invert").flag(false);
  return stage;
}

SplitStage byte_level_stage(const JsonField& byte_level) {
  SplitStage stage;
  stage.add_prefix_space = byte_level.get("add_prefix_space").flag(true);
  if (byte_level.get("use_regex").flag(true)) {
    stage.pattern.emplace(kGpt2Pattern, Regex::Syntax::kOniguruma,
                          byte_level.where());
  }
  return stage;
}

SplitStage digits_stage(const JsonField& digits) {
  SplitStage stage;
  stage.pattern.emplace(R"(\p{N})", Regex::Syntax::kOniguruma, digits.where());
  stage.behavior = digits.get("individual_digits").flag(false)
                       ? SplitBehavior::kIsolated
                       : SplitBehavior::kContiguous;
  return stage;
}

constexpr const char* kPreTokenizers =
    "ByteLevel, or a Sequence of Split and Digits that ends in ByteLevel";

// Byte-level BPE must end in ByteLevel, and nothing may follow it: later
// stages would see its stand-in characters.
std::vector<SplitStage> stages_of(const JsonField& pre_tokenizer) {
  if (pre_tokenizer.value().is_null()) pre_tokenizer.refuse(kPreTokenizers);
  const JsonField list = pre_tokenizer.get("pretokenizers");
  const std::vector<JsonField> parts =
      pre_tokenizer.get("type").text() == "Sequence"
          ? list.elements()
          : std::vector<JsonField>{pre_tokenizer};
  std::vector<SplitStage> stages;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const JsonField type = parts[i].get("type");
    const bool last = i + 1 == parts.size();
    if (type.text() == "ByteLevel" && last) {
      stages.push_back(byte_level_stage(parts[i]));
    } else if (type.text() == "Split" && !last) {
      stages.push_back(split_stage(parts[i]));
    } else if (type.text() == "Digits" && !last) {
      stages.push_back(digits_stage(parts[i]));
    } else {
      type.refuse(kPreTokenizers);
    }
  }
  if (stages.empty()) list.refuse(kPreTokenizers);
  return stages;
}

// ---- the rest ---------------------------------------------------------------

void check_normalizer(const JsonField& normalizer) {
  if (normalizer.value().is_null()) return;
  const JsonField list = normalizer.get("normalizers");
  const bool empty = normalizer.get("type").text() == "Sequence" &&
                     list.value().is_array() && list.value().empty();
  if (!empty) normalizer.get("type").refuse("no normalizer (null)");
}

std::vector<AddedToken> added_tokens_of(const JsonField& root,
                                        const BpeTables& tables) {
  std::vector<AddedToken> tokens;
  if (root.get("added_tokens").value().is_null()) return tokens;
  for (const JsonField& field : root.get("added_tokens").elements()) {
    AddedToken token;
    token.id = field.get("id").token_id();
    token.content = field.get("content").text();
    token.single_word = field.get("single_word").flag(false);
    token.lstrip = field.get("lstrip").flag(false);
    token.rstrip = field.get("rstrip").flag(false);
    token.normalized = field.get("normalized").flag(false);
    const auto found = tables.vocabulary.find(token.content);
    if (found != tables.vocabulary.end() && found->second != token.id) {
      field.get("id").refuse(
          fmt::format("{}, its id in model.vocab", found->second));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::vector<std::int32_t> template_prefix(const JsonField& processor) {
  std::vector<std::int32_t> prefix;
  for (const JsonField& piece : processor.get("single").elements()) {
    const JsonField special = piece.get("SpecialToken");
    if (special.value().is_null()) break;  // the text itself
    const JsonField entry =
        processor.get("special_tokens").get(special.get("id").text().c_str());
    for (const JsonField& id : entry.get("ids").elements()) {
      prefix.push_back(id.token_id());
    }
  }
  return prefix;
}

std::vector<std::int32_t> prompt_prefix_of(const JsonField& processor) {
  if (processor.value().is_null()) return {};
  const JsonField type = processor.get("type");
  if (type.text() == "ByteLevel") return {};  // only trims offsets
  if (type.text() == "TemplateProcessing") return template_prefix(processor);
  if (type.text() == "RobertaProcessing") {
    const std::vector<JsonField> cls = processor.get("cls").elements();
    if (cls.size() != 2) processor.get("cls").refuse("[token, id]");
    return {cls[1].token_id()};
  }
  if (type.text() == "Sequence") {
    std::vector<std::int32_t> prefix;
    for (const JsonField& part : processor.get("processors").elements()) {
      const auto outer = prompt_prefix_of(part);
      prefix.insert(prefix.begin(), outer.begin(), outer.end());
    }
    return prefix;
  }
  type.refuse(
      "ByteLevel, TemplateProcessing, RobertaProcessing or a Sequence of them");
}

json parse(const std::filesystem::path& path, const std::string& text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail_usage("{}: not valid JSON at byte {}", path.string(), error.byte);
  }
}

// "eos_token" is a string, or an object with "content".
std::optional<std::string> configured_end_of_text(
    const std::filesystem::path& path, std::uint64_t& fingerprint) {
  const std::filesystem::path config =
      path.parent_path() / "tokenizer_config.json";
  if (!std::filesystem::exists(config)) return std::nullopt;
  const std::string text = read_file(config);
  const json document = parse(config, text);
  JsonField token = JsonField(config.string(), document).get("eos_token");
  if (token.value().is_object()) token = token.get("content");
  if (token.value().is_null()) return std::nullopt;
  fingerprint = xxh64(token.text(), fingerprint);
  return token.text();
}

}  // namespace

BpeParts read_tokenizer_json(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const json document = parse(path, text);
  const JsonField root(path.string(), document);
  if (!document.is_object()) root.refuse("an object");
  check_normalizer(root.get("normalizer"));
  BpeParts parts;
  parts.tables = tables_of(root.get("model"));
  parts.stages = stages_of(root.get("pre_tokenizer"));
  parts.added_tokens = added_tokens_of(root, parts.tables);
  parts.prompt_prefix = prompt_prefix_of(root.get("post_processor"));
  parts.fingerprint = xxh64(text);
  parts.end_of_text = configured_end_of_text(path, parts.fingerprint);
  return parts;
}

}  // namespace merak::data
