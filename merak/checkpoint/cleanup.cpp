#include "merak/checkpoint/cleanup.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "merak/base/error.h"
#include "merak/checkpoint/step_folder.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;

// A folder that has a checkpoint.json. One that is damaged counts as the
// oldest.
struct Published {
  std::int64_t sequence;
  std::int64_t step;
};

std::vector<std::int64_t> listed_steps(FileSystem& files,
                                       const fs::path& checkpoints) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : files.list(checkpoints)) {
    const auto step = parse_step_folder(name);
    if (step && files.is_folder(checkpoints / name)) steps.push_back(*step);
  }
  return steps;
}

// By a listing: that a file could not be looked at does not mean that it is
// not there.
bool has_index(FileSystem& files, const fs::path& folder) {
  const std::vector<std::string> names = files.list(folder);
  return std::find(names.begin(), names.end(), kIndexFile) != names.end();
}

// Damage is the file's for ever, but what the disk does not give now it may
// give later: taken for damaged, the newest checkpoint would count as the
// oldest.
std::string read_index(FileSystem& files, const fs::path& path) {
  try {
    return files.read(path);
  } catch (const Error& error) {
    fail_runtime("{}; without it the order of the checkpoints is not known",
                 error.what());
  }
}

std::optional<Published> read_published(FileSystem& files,
                                        const fs::path& checkpoints,
                                        std::int64_t step) {
  const fs::path folder = checkpoints / step_folder_name(step);
  if (!has_index(files, folder)) return std::nullopt;
  const fs::path path = folder / kIndexFile;
  const std::string text = read_index(files, path);
  try {
    return Published{parse_index(text, path.string()).sequence, step};
  } catch (const Error&) {
    return Published{0, step};
  }
}

// Newest last.
std::vector<Published> list_published(FileSystem& files,
                                      const fs::path& checkpoints) {
  std::vector<Published> all;
  for (const std::int64_t step : listed_steps(files, checkpoints)) {
    if (const auto found = read_published(files, checkpoints, step)) {
      all.push_back(*found);
    }
  }
  std::sort(all.begin(), all.end(), [](const Published& a, const Published& b) {
    return std::tie(a.sequence, a.step) < std::tie(b.sequence, b.step);
  });
  return all;
}

// A user's own files (notes, an export) are not ours to remove.
void check_only_ours(FileSystem& files, const fs::path& folder) {
  for (const std::string& name : files.list(folder)) {
    if (!is_checkpoint_file(name)) {
      fail_runtime("{} is not removed: it holds {}, which is no checkpoint's",
                   folder.string(), name);
    }
  }
}

// Removes a folder that is no checkpoint (any more), with its files.
void remove_step_folder(FileSystem& files, const fs::path& folder) {
  check_only_ours(files, folder);
  for (const std::string& name : files.list(folder)) {
    files.remove_file(folder / name);
  }
  files.remove_folder(folder);
}

void remove_published(FileSystem& files, const fs::path& checkpoints,
                      const std::string& name) {
  check_only_ours(files, checkpoints / name);
  const fs::path aside = checkpoints / (name + std::string(kDeletedSuffix));
  files.rename(checkpoints / name, aside);
  // Only what is surely no longer called a checkpoint loses its files.
  files.sync_folder(checkpoints);
  remove_step_folder(files, aside);
}

bool is_deleted_folder(std::string_view name) {
  if (!name.ends_with(kDeletedSuffix)) return false;
  name.remove_suffix(kDeletedSuffix.size());
  return parse_step_folder(name).has_value();
}

// A failure here costs disk space, not the run.
template <typename F>
void attempt(const Warn& warn, F&& action) {
  try {
    action();
  } catch (const Error& error) {
    warn(error.what());
  }
}

}  // namespace

std::int64_t next_sequence(FileSystem& files, const fs::path& checkpoints) {
  const std::vector<Published> all = list_published(files, checkpoints);
  return all.empty() ? 1 : all.back().sequence + 1;
}

void remove_unfinished(FileSystem& files, const fs::path& checkpoints,
                       std::int64_t before, const Warn& warn) {
  attempt(warn, [&] {
    for (const std::int64_t step : listed_steps(files, checkpoints)) {
      const fs::path folder = checkpoints / step_folder_name(step);
      if (step >= before) continue;
      attempt(warn, [&] {
        if (!has_index(files, folder)) remove_step_folder(files, folder);
      });
    }
    std::vector<std::string> deleted = files.list(checkpoints);
    std::erase_if(deleted, [](const std::string& name) {
      return !is_deleted_folder(name);
    });
    if (deleted.empty()) return;
    // Whoever renamed them may have died before it could sync the new names.
    files.sync_folder(checkpoints);
    for (const std::string& name : deleted) {
      attempt(warn, [&] { remove_step_folder(files, checkpoints / name); });
    }
  });
}

void remove_unnamed(FileSystem& files, const fs::path& checkpoints,
                    const Index& published, const Warn& warn) {
  std::unordered_set<std::string> named = {std::string(kIndexFile)};
  for (const FileEntry& file : published.contents.files) {
    named.insert(file.name);
  }
  const fs::path folder = checkpoints / step_folder_name(published.step);
  attempt(warn, [&] {
    for (const std::string& name : files.list(folder)) {
      if (is_checkpoint_file(name) && !named.contains(name)) {
        files.remove_file(folder / name);
      }
    }
  });
}

void remove_old(FileSystem& files, const fs::path& checkpoints,
                const Index& published, int keep, const Warn& warn) {
  attempt(warn, [&] {
    std::vector<Published> others = list_published(files, checkpoints);
    std::erase_if(others, [&](const Published& other) {
      return other.step == published.step;
    });
    const auto stay = static_cast<std::size_t>(keep - 1);
    if (others.size() <= stay) return;
    others.resize(others.size() - stay);
    for (const Published& old : others) {
      attempt(warn, [&] {
        remove_published(files, checkpoints, step_folder_name(old.step));
      });
    }
  });
}

}  // namespace merak::checkpoint
