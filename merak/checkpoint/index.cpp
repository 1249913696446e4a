#include "merak/checkpoint/index.h"

#include <fmt/format.h>

#include <limits>
#include <tuple>

#include "merak/base/error.h"
#include "merak/base/xxh64.h"
#include "merak/checkpoint/safetensors/strict_json.h"

namespace merak::checkpoint {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kFormat = "merak-checkpoint";
constexpr std::int64_t kVersion = 1;
// The model's configuration may be any JSON, within reason.
constexpr int kMaxDepth = 64;

json parse_own(const std::string& object) {
  json value = json::parse(object, nullptr, /*allow_exceptions=*/false);
  MERAK_CHECK(value.is_object(), "no JSON object: {}", object);
  return value;
}

std::string checksum_line(std::string_view rest) {
  return fmt::format("{{\"xxh64\":\"{:016x}\",\n", xxh64(rest));
}

void check_checksum(std::string_view text, const std::string& path) {
  const std::size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos ||
      text.substr(0, line_end + 1) !=
          checksum_line(text.substr(line_end + 1))) {
    fail_usage(
        "{} does not match the checksum in its first line: it was "
        "damaged or edited",
        path);
  }
}

// Before the rest, so that another version is not reported as an unknown key.
void check_version(const json& document, const std::string& path) {
  if (!document.is_object() ||
      document.value("format", json()) != json(kFormat)) {
    fail_usage("{}: 'format' is not {}", path, kFormat);
  }
  const json version = document.value("version", json());
  if (version != json(kVersion)) {
    fail_usage("{} has version {}; this Merak reads version {}", path,
               version.dump(), kVersion);
  }
}

void check_tensors(const Contents& contents, const std::string& path) {
  const TensorEntry* last = nullptr;
  for (const TensorEntry& tensor : contents.tensors) {
    if (last != nullptr && std::tie(tensor.info.kind, tensor.info.name) <=
                               std::tie(last->info.kind, last->info.name)) {
      fail_usage("{}: {} comes after {}; tensors are sorted, each once", path,
                 text(tensor.info), text(last->info));
    }
    last = &tensor;
    std::vector<Slice> slices;
    for (const Part& part : tensor.parts) slices.push_back(part.slice);
    const std::string problem = coverage_problem(tensor.info.shape, slices);
    if (!problem.empty()) {
      fail_usage("{}: {}: {}", path, text(tensor.info), problem);
    }
  }
}

}  // namespace

std::string format_index(const Index& index) {
  const ordered_json document = {
      {"format", kFormat},
      {"version", kVersion},
      {"step", index.step},
      {"sequence", index.sequence},
      {"layout", parse_own(index.layout)},
      {"model", parse_own(index.model)},
      {"trainer", parse_own(index.trainer)},
      {"files", files_to_json(index.contents.files)},
      {"tensors", tensors_to_json(index.contents.tensors)}};
  // The checksum's line opens the object; the rest follows it.
  const std::string rest = document.dump().substr(1) + "\n";
  return checksum_line(rest) + rest;
}

Index parse_index(std::string_view text, const std::string& path) {
  check_checksum(text, path);
  const json document = parse_strict(text, path, kMaxDepth);
  check_version(document, path);
  const Fields fields(document, path,
                      {"xxh64", "format", "version", "step", "sequence",
                       "layout", "model", "trainer", "files", "tensors"});
  Index index{.step = fields.natural("step"),
              .sequence = fields.natural("sequence"),
              .layout = fields.object("layout").dump(),
              .model = fields.object("model").dump(),
              .trainer = fields.object("trainer").dump(),
              .contents = parse_contents(fields.list("files"),
                                         fields.list("tensors"), path)};
  if (index.sequence == std::numeric_limits<std::int64_t>::max()) {
    fail_usage("{}: no sequence number can follow {}", path, index.sequence);
  }
  check_tensors(index.contents, path);
  return index;
}

}  // namespace merak::checkpoint
