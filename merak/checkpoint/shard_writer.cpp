#include "merak/checkpoint/shard_writer.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/xxh64.h"
#include "merak/checkpoint/safetensors/safetensors_writer.h"
#include "merak/checkpoint/safetensors/strict_json.h"
#include "merak/checkpoint/step_folder.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;

// The first name of "weights-r00003.safetensors", "weights-r00003-1...." that
// is free: a published checkpoint's files are never written over.
std::string free_name(FileSystem& files, const fs::path& folder,
                      std::string_view stem, int rank) {
  std::string name = fmt::format("{}-r{:05}.safetensors", stem, rank);
  for (int attempt = 1; files.file_size(folder / name); ++attempt) {
    name = fmt::format("{}-r{:05}-{}.safetensors", stem, rank, attempt);
  }
  return name;
}

std::string key_of(const ShardTensor& tensor) {
  std::string key = tensor.info.kind == kWeight
                        ? tensor.info.name
                        : tensor.info.kind + "/" + tensor.info.name;
  if (tensor.slice != whole(tensor.info.shape)) key += text(tensor.slice);
  return key;
}

void check(const ShardTensor& tensor) {
  const TensorInfo& info = tensor.info;
  MERAK_CHECK(!info.kind.empty() && info.kind.find('/') == std::string::npos,
              "kind '{}' of '{}'", info.kind, info.name);
  MERAK_CHECK(checked_bytes(info.shape, info.dtype).has_value() &&
                  is_inside(tensor.slice, info.shape),
              "{}: offset {}, extent {}, shape {}", text(info),
              text(tensor.slice.offset), text(tensor.slice.extent),
              text(info.shape));
  MERAK_CHECK(checked_bytes(tensor.slice.extent, info.dtype) ==
                  static_cast<std::int64_t>(tensor.bytes.size()),
              "{} {}: {} bytes", text(info), text(tensor.slice),
              tensor.bytes.size());
}

class ShardWriter {
 public:
  ShardWriter(FileSystem& files, const SaveTarget& target)
      : files_(files),
        target_(target),
        folder_(target.checkpoints / step_folder_name(target.step)) {}

  std::string write(std::span<const ShardTensor> tensors) {
    std::vector<const ShardTensor*> weights;
    std::vector<const ShardTensor*> state;
    for (const ShardTensor& tensor : tensors) {
      check(tensor);
      entry(tensor.info);
      if (tensor.bytes.empty()) continue;
      (tensor.info.kind == kWeight ? weights : state).push_back(&tensor);
    }
    make_durable_folder(files_, target_.checkpoints);
    make_durable_folder(files_, folder_);
    try {
      write_file("weights", weights);
      write_file("optimizer", state);
    } catch (...) {
      remove_begun();
      throw;
    }
    for (auto& [key, tensor] : entries_) {
      manifest_.contents.tensors.push_back(std::move(tensor));
    }
    manifest_.rank = target_.rank;
    manifest_.step = target_.step;
    return format_manifest(manifest_);
  }

 private:
  TensorEntry& entry(const TensorInfo& info) {
    TensorEntry& entry = entries_[{info.kind, info.name}];
    MERAK_CHECK(entry.info.name.empty() || entry.info == info,
                "{} in two shapes or types", text(info));
    entry.info = info;
    return entry;
  }

  void write_file(std::string_view stem,
                  std::span<const ShardTensor* const> tensors) {
    if (tensors.empty()) return;
    std::vector<TensorSpec> specs;
    for (const ShardTensor* tensor : tensors) {
      specs.push_back(
          {key_of(*tensor), tensor->info.dtype, tensor->slice.extent});
    }
    const std::string name = free_name(files_, folder_, stem, target_.rank);
    begun_.push_back(name);
    const WrittenFile written =
        write_safetensors(files_, folder_ / name, specs, {{"format", "pt"}},
                          [&](std::size_t index, const Sink& sink) {
                            sink(tensors[index]->bytes);
                          });
    const std::size_t file = manifest_.contents.files.size();
    manifest_.contents.files.push_back(
        {name, written.bytes, written.header_xxh64});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto bytes = tensors[i]->bytes;
      entry(tensors[i]->info)
          .parts.push_back({file, specs[i].name, tensors[i]->slice,
                            xxh64({reinterpret_cast<const char*>(bytes.data()),
                                   bytes.size()})});
    }
  }

  void remove_begun() noexcept {
    for (const std::string& name : begun_) {
      try {
        const fs::path path = folder_ / name;
        if (files_.file_size(path)) files_.remove_file(path);
      } catch (...) {
        // A later save cleans up; the first failure is the one to report.
      }
    }
  }

  FileSystem& files_;
  SaveTarget target_;
  fs::path folder_;
  // Names that were free before, also of a file whose writing failed after it
  // had got its name.
  std::vector<std::string> begun_;
  Manifest manifest_;
  std::map<std::pair<std::string, std::string>, TensorEntry> entries_;
};

}  // namespace

std::string write_shards(FileSystem& files, const SaveTarget& target,
                         std::span<const ShardTensor> tensors) {
  MERAK_CHECK(target.step >= 0 && target.rank >= 0, "step {}, rank {}",
              target.step, target.rank);
  return ShardWriter(files, target).write(tensors);
}

std::string failed_manifest(const SaveTarget& target, std::string_view why) {
  return format_manifest({.rank = target.rank,
                          .step = target.step,
                          .failure = std::string(why),
                          .contents = {}});
}

std::string format_manifest(const Manifest& manifest) {
  const nlohmann::json document = {
      {"rank", manifest.rank},
      {"step", manifest.step},
      {"failure", manifest.failure},
      {"files", files_to_json(manifest.contents.files)},
      {"tensors", tensors_to_json(manifest.contents.tensors)}};
  // An error's text may hold a path in any encoding.
  return document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Manifest parse_manifest(std::string_view text) {
  const std::string where = "a rank's manifest";
  const nlohmann::json document = parse_strict(text, where, kMaxDepth);
  const Fields fields(document, where,
                      {"rank", "step", "failure", "files", "tensors"});
  return {.rank = fields.natural("rank"),
          .step = fields.natural("step"),
          .failure = fields.string("failure"),
          .contents = parse_contents(fields.list("files"),
                                     fields.list("tensors"), where)};
}

}  // namespace merak::checkpoint
