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

// A folder that has a checkpoint.json. One that cannot be read counts as the
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

std::optional<Published> read_published(FileSystem& files,
                                        const fs::path& checkpoints,
                                        std::int64_t step) {
  const fs::path path = checkpoints / step_folder_name(step) / kIndexFile;
  if (!files.file_size(path)) return std::nullopt;
  try {
    const Index index = parse_index(files.read(path), path.string());
    return Published{index.sequence, step};
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
      if (step < before && !files.file_size(folder / kIndexFile)) {
        attempt(warn, [&] { remove_step_folder(files, folder); });
      }
    }
    for (const std::string& name : files.list(checkpoints)) {
      if (is_deleted_folder(name)) {
        attempt(warn, [&] { remove_step_folder(files, checkpoints / name); });
      }
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
  std::vector<Published> others = list_published(files, checkpoints);
  std::erase_if(others, [&](const Published& other) {
    return other.step == published.step;
  });
  const auto stay = static_cast<std::size_t>(keep - 1);
  if (others.size() <= stay) return;
  others.resize(others.size() - stay);
  for (const Published& old : others) {
    attempt(warn, [&] {
      const fs::path folder = checkpoints / step_folder_name(old.step);
      check_only_ours(files, folder);
      fs::path aside = folder;
      aside += kDeletedSuffix;
      files.rename(folder, aside);
      // Only what is surely no longer called a checkpoint loses its files.
      files.sync_folder(checkpoints);
      remove_step_folder(files, aside);
    });
  }
}

}  // namespace merak::checkpoint
