#include "merak/checkpoint/loaded.h"

#include <fmt/format.h>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/xxh64.h"
#include "merak/checkpoint/safetensors/dtype_name.h"
#include "merak/checkpoint/safetensors/strict_json.h"
#include "merak/checkpoint/step_folder.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string read_index(const fs::path& folder) {
  const fs::file_type type = type_at(folder);
  if (type == fs::file_type::not_found) {
    fail_usage("there is no checkpoint {}", folder.string());
  }
  if (type != fs::file_type::directory) {
    fail_usage("{} is no folder; a checkpoint is a folder step-... in {}",
               folder.string(), kCheckpointsFolder);
  }
  if (has_index(folder)) return read_file(folder / kIndexFile);
  if (path_is_folder(folder / kCheckpointsFolder)) {
    fail_usage(
        "{} is a run folder, not a checkpoint; name a folder step-... "
        "in {}",
        folder.string(), (folder / kCheckpointsFolder).string());
  }
  fail_usage(
      "{} is no complete checkpoint: it has no {}, which the last moment "
      "of a save writes",
      folder.string(), kIndexFile);
}

// The size is compared before anything is parsed: it tells most clearly that
// a file was cut short.
std::optional<SafetensorsFile> open_file(const fs::path& path,
                                         const FileEntry& entry) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) {
    fail_usage("cannot read {}: {}", path.string(), error.message());
  }
  if (size < entry.bytes) {
    fail_usage(
        "{} is cut short: it has {} of {} bytes; copy it again, or take "
        "another checkpoint",
        path.string(), size, entry.bytes);
  }
  if (size > entry.bytes) {
    fail_usage("{} has {} bytes; {} were written", path.string(), size,
               entry.bytes);
  }
  SafetensorsFile file(path);
  if (xxh64(file.header_bytes()) != entry.header_xxh64) {
    fail_usage("{}: the header does not match its checksum", path.string());
  }
  return file;
}

// Empty if the file has the part as the index says.
std::string part_problem(const SafetensorsFile& file, const TensorInfo& info,
                         const Part& part, Depth depth) {
  const StoredTensor* stored = file.find(part.key);
  if (stored == nullptr) {
    return fmt::format("{} has no tensor {}", file.path(),
                       quote_name(part.key));
  }
  if (stored->spec.dtype != info.dtype ||
      stored->spec.shape != part.slice.extent) {
    return fmt::format("{}: {} is {} of shape {}; {} says {} of shape {}",
                       file.path(), quote_name(part.key),
                       stored_name_of(stored->spec.dtype),
                       text(stored->spec.shape), kIndexFile,
                       stored_name_of(info.dtype), text(part.slice.extent));
  }
  if (depth == Depth::kStructure) return {};
  const auto bytes = file.bytes(*stored);
  if (xxh64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) !=
      part.xxh64) {
    return fmt::format("{}: the data of {} does not match its checksum",
                       file.path(), quote_name(part.key));
  }
  return {};
}

}  // namespace

bool has_index(const fs::path& folder) {
  return path_exists(folder / kIndexFile);
}

Loaded load(const fs::path& folder, Depth depth) {
  Loaded loaded{
      .index = parse_index(read_index(folder), (folder / kIndexFile).string())};
  for (const FileEntry& entry : loaded.index.contents.files) {
    try {
      loaded.files.push_back(open_file(folder / entry.name, entry));
    } catch (const Error& error) {
      loaded.files.emplace_back();
      loaded.problems.emplace_back(error.what());
    }
  }
  for (const TensorEntry& tensor : loaded.index.contents.tensors) {
    for (const Part& part : tensor.parts) {
      const auto& file = loaded.files[part.file];
      if (!file) continue;
      std::string problem = part_problem(*file, tensor.info, part, depth);
      if (!problem.empty()) loaded.problems.push_back(std::move(problem));
    }
  }
  return loaded;
}

}  // namespace merak::checkpoint
