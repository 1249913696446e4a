#include "merak/checkpoint/publish.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "merak/base/error.h"
#include "merak/checkpoint/cleanup.h"
#include "merak/checkpoint/index.h"
#include "merak/checkpoint/shard_writer.h"
#include "merak/checkpoint/step_folder.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;

std::vector<Manifest> parse_all(std::span<const std::string> texts,
                                std::int64_t step) {
  std::vector<Manifest> manifests;
  std::set<std::int64_t> ranks;
  for (const std::string& text : texts) {
    Manifest manifest = parse_manifest(text);
    MERAK_CHECK(manifest.step == step && ranks.insert(manifest.rank).second,
                "rank {} with step {}, not {}, or twice", manifest.rank,
                manifest.step, step);
    manifests.push_back(std::move(manifest));
  }
  std::sort(
      manifests.begin(), manifests.end(),
      [](const Manifest& a, const Manifest& b) { return a.rank < b.rank; });
  return manifests;
}

void check_all_wrote(const std::vector<Manifest>& manifests,
                     std::int64_t step) {
  for (const Manifest& manifest : manifests) {
    if (!manifest.failure.empty()) {
      fail_runtime("the checkpoint of step {} is not saved: rank {}: {}", step,
                   manifest.rank, manifest.failure);
    }
  }
}

Contents merge(const std::vector<Manifest>& manifests) {
  Contents merged;
  std::map<std::pair<std::string, std::string>, TensorEntry> tensors;
  for (const Manifest& manifest : manifests) {
    const std::size_t first_file = merged.files.size();
    merged.files.insert(merged.files.end(), manifest.contents.files.begin(),
                        manifest.contents.files.end());
    for (const TensorEntry& from : manifest.contents.tensors) {
      const auto [at, is_new] =
          tensors.try_emplace({from.info.kind, from.info.name}, from.info);
      TensorEntry& to = at->second;
      MERAK_CHECK(to.info == from.info,
                  "{} is {} of shape {} to rank {}, {} of shape {} to others",
                  text(from.info), name_of(from.info.dtype),
                  text(from.info.shape), manifest.rank, name_of(to.info.dtype),
                  text(to.info.shape));
      for (Part part : from.parts) {
        part.file += first_file;
        to.parts.push_back(std::move(part));
      }
    }
  }
  for (auto& [key, tensor] : tensors) {
    merged.tensors.push_back(std::move(tensor));
  }
  return merged;
}

void check_coverage(const Contents& contents) {
  for (const TensorEntry& tensor : contents.tensors) {
    std::vector<Slice> slices;
    for (const Part& part : tensor.parts) slices.push_back(part.slice);
    const std::string problem = coverage_problem(tensor.info.shape, slices);
    MERAK_CHECK(problem.empty(), "{}: {} in what the ranks wrote",
                text(tensor.info), problem);
  }
}

void check_visible(FileSystem& files, const fs::path& folder,
                   const std::vector<FileEntry>& entries) {
  for (const FileEntry& entry : entries) {
    const fs::path path = folder / entry.name;
    const auto size = files.file_size(path);
    if (size == entry.bytes) continue;
    fail_runtime(
        "{} {} here, where a rank wrote {} bytes; the run folder must lie on a "
        "disk that all machines share",
        path.string(), size ? fmt::format("has {} bytes", *size) : "is missing",
        entry.bytes);
  }
}

// The commit point. Were the rename to succeed and what follows to fail, the
// checkpoint would be there: then only its durability is in doubt.
void write_index(FileSystem& files, const fs::path& folder,
                 const Index& index) {
  const std::string text = format_index(index);
  // What could not be read back must not take the place of what can.
  parse_index(text, (folder / kIndexFile).string());
  files.sync_folder(folder);
  AtomicFile file(files, folder / kIndexFile, text.size());
  file.append(text);
  file.commit();
}

std::set<std::string> files_of(const Contents& contents) {
  std::set<std::string> names;
  for (const FileEntry& file : contents.files) names.insert(file.name);
  return names;
}

// After a failure the ranks' files only take space, unless a checkpoint.json
// that is in place names them.
void discard(FileSystem& files, const fs::path& folder,
             const Contents& written) {
  try {
    std::set<std::string> unwanted = files_of(written);
    const fs::path path = folder / kIndexFile;
    if (files.file_size(path)) {
      const Index in_place = parse_index(files.read(path), path.string());
      for (const auto& name : files_of(in_place.contents)) unwanted.erase(name);
    }
    for (const std::string& name : unwanted) {
      if (files.file_size(folder / name)) files.remove_file(folder / name);
    }
  } catch (const Error&) {
    // The next save cleans up; the first failure is the one to report.
  }
}

}  // namespace

fs::path publish(FileSystem& files, const Publication& what,
                 std::span<const std::string> manifests, const Warn& warn) {
  MERAK_CHECK(what.keep >= 1, "keep {}", what.keep);
  const std::vector<Manifest> parsed = parse_all(manifests, what.step);
  const fs::path folder = what.checkpoints / step_folder_name(what.step);
  Index index{.step = what.step,
              .layout = what.layout,
              .model = what.model,
              .trainer = what.trainer,
              .contents = merge(parsed)};
  try {
    check_all_wrote(parsed, what.step);
    check_coverage(index.contents);
    make_durable_folder(files, what.checkpoints);
    make_durable_folder(files, folder);
    check_visible(files, folder, index.contents.files);
    index.sequence = next_sequence(files, what.checkpoints);
    write_index(files, folder, index);
  } catch (const Error&) {
    discard(files, folder, index.contents);
    throw;
  }
  remove_unnamed(files, what.checkpoints, index, warn);
  remove_unfinished(files, what.checkpoints, what.step, warn);
  remove_old(files, what.checkpoints, index, what.keep, warn);
  return folder;
}

}  // namespace merak::checkpoint
