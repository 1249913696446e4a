#include "merak/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/str.h"
#include "merak/checkpoint/safetensors/dtype_name.h"
#include "merak/checkpoint/safetensors/strict_json.h"
#include "merak/checkpoint/step_folder.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNamed = 5;  // differences in one message

std::string first_problem(const fs::path& folder,
                          const std::vector<std::string>& problems) {
  std::string message = fmt::format("the checkpoint {} is not sound: {}",
                                    folder.string(), problems.front());
  if (problems.size() > 1) {
    message += fmt::format(" ({} more; `merak inspect` lists them)",
                           problems.size() - 1);
  }
  return message;
}

std::vector<fs::path> step_folders(const fs::path& checkpoints) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator at(checkpoints, error), end; !error && at != end;
       at.increment(error)) {
    if (parse_step_folder(at->path().filename().string())) {
      folders.push_back(at->path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail_usage("cannot read the folder {}: {}", checkpoints.string(),
               error.message());
  }
  return folders;
}

// Where a checkpoint stands in time; nothing, after saying so, for what has no
// readable checkpoint.json.
std::optional<std::pair<std::int64_t, std::int64_t>> order_of(
    const fs::path& folder, const Warn& skipped) {
  try {
    if (!has_index(folder)) {
      skipped(
          fmt::format("skipped {}: its save did not finish", folder.string()));
      return std::nullopt;
    }
    const fs::path path = folder / kIndexFile;
    const Index index = parse_index(read_file(path), path.string());
    return std::pair(index.sequence, index.step);
  } catch (const Error& error) {
    skipped(fmt::format("skipped {}: {}", folder.string(), error.what()));
    return std::nullopt;
  }
}

}  // namespace

Checkpoint::Checkpoint(fs::path folder, Loaded loaded)
    : folder_(std::move(folder)), loaded_(std::move(loaded)) {
  if (!loaded_.problems.empty()) {
    fail_usage("{}", first_problem(folder_, loaded_.problems));
  }
}

const TensorEntry* Checkpoint::entry(std::string_view kind,
                                     std::string_view name) const {
  const auto key = [](const TensorEntry& tensor) {
    return std::pair<std::string_view, std::string_view>(tensor.info.kind,
                                                         tensor.info.name);
  };
  const auto& all = tensors();
  const auto at = std::ranges::lower_bound(all, std::pair(kind, name), {}, key);
  return at != all.end() && key(*at) == std::pair(kind, name) ? &*at : nullptr;
}

const TensorInfo* Checkpoint::find(std::string_view kind,
                                   std::string_view name) const {
  const TensorEntry* found = entry(kind, name);
  return found == nullptr ? nullptr : &found->info;
}

// Empty if the checkpoint has the tensor as it is wanted.
std::string Checkpoint::difference(const TensorInfo& wanted) const {
  const TensorInfo* stored = find(wanted.kind, wanted.name);
  if (stored == nullptr) {
    std::vector<std::string> names;
    for (const TensorEntry& tensor : tensors()) {
      if (tensor.info.kind == wanted.kind) names.push_back(tensor.info.name);
    }
    const auto near = nearest(wanted.name, names);
    return fmt::format(
        "has no {}{}", text(wanted),
        near ? " (the nearest is " + quote_name(*near) + ")" : "");
  }
  if (*stored == wanted) return {};
  return fmt::format("has {} as {} of shape {}, but here it is {} of shape {}",
                     text(wanted), stored_name_of(stored->dtype),
                     text(stored->shape), stored_name_of(wanted.dtype),
                     text(wanted.shape));
}

void Checkpoint::require(std::span<const TensorInfo> wanted) const {
  std::vector<std::string> differences;
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const TensorInfo& tensor : wanted) {
    known.insert({tensor.kind, tensor.name});
    std::string found = difference(tensor);
    if (!found.empty()) differences.push_back(std::move(found));
  }
  for (const TensorEntry& tensor : tensors()) {
    if (known.contains({tensor.info.kind, tensor.info.name})) continue;
    differences.push_back(
        fmt::format("has {}, which is unknown here", text(tensor.info)));
  }
  if (differences.empty()) return;
  const std::size_t total = differences.size();
  differences.resize(std::min(total, kMaxNamed));
  fail_usage("the checkpoint {} does not fit: it {}{}", folder_.string(),
             join(differences, "; it "),
             total > kMaxNamed
                 ? fmt::format("; and {} differences more", total - kMaxNamed)
                 : "");
}

void Checkpoint::read(const TensorInfo& wanted, const Slice& slice,
                      std::span<std::byte> target) const {
  const std::string differs = difference(wanted);
  if (!differs.empty()) {
    fail_usage("the checkpoint {} {}", folder_.string(), differs);
  }
  MERAK_CHECK(is_inside(slice, wanted.shape), "{}: offset {}, extent {}",
              text(wanted), text(slice.offset), text(slice.extent));
  MERAK_CHECK(checked_bytes(slice.extent, wanted.dtype) ==
                  static_cast<std::int64_t>(target.size()),
              "{} {} into {} bytes", text(wanted), text(slice), target.size());
  std::int64_t copied = 0;
  for (const Part& part : entry(wanted.kind, wanted.name)->parts) {
    const SafetensorsFile& file = *loaded_.files[part.file];
    copied += copy_overlap(file.bytes(file.at(part.key)), part.slice, target,
                           slice, size_of(wanted.dtype));
  }
  // The index was checked for coverage: anything else is our mistake.
  MERAK_CHECK(copied == numel(slice.extent), "{} {}: {} elements", text(wanted),
              text(slice), copied);
}

Checkpoint open_checkpoint(const fs::path& folder, Depth depth) {
  return {folder, load(folder, depth)};
}

std::optional<fs::path> find_newest_complete(const fs::path& run_folder,
                                             const Warn& skipped, Depth depth) {
  using Order = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::pair<Order, fs::path>> candidates;
  std::vector<fs::path> folders = step_folders(run_folder / kCheckpointsFolder);
  std::sort(folders.begin(), folders.end());
  for (fs::path& folder : folders) {
    if (const std::optional<Order> order = order_of(folder, skipped)) {
      candidates.emplace_back(*order, std::move(folder));
    }
  }
  std::sort(candidates.rbegin(), candidates.rend());
  for (const auto& [order, folder] : candidates) {
    try {
      open_checkpoint(folder, depth);
      return folder;
    } catch (const Error& error) {
      skipped(fmt::format("skipped {}: {}", folder.string(), error.what()));
    }
  }
  return std::nullopt;
}

}  // namespace merak::checkpoint
