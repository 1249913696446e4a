// A disk in memory that knows what a power loss would leave of it.
//
//   MemoryFiles disk;
//   ... a save that is killed on the way ...
//   disk.after({.crash = Crash::kPowerLoss}).copy_to(folder);
//   EXPECT_EQ(find_newest_complete(folder / "run", ...), ...);
//
// A file's bytes are durable after sync() of the file, names after
// sync_folder() of the folder that holds them. Paths are absolute; the folder
// "/" is there. Renames stay within one folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "merak/base/file_system.h"

namespace merak::checkpoint::testing {

enum class Crash {
  kKilled,     // the process died: everything written is there
  kPowerLoss,  // only what is durable is there
  // The disk had begun on what it was not told to sync: some of the changes of
  // names are there, and any beginning of the bytes.
  kTorn,
};

struct Look {
  Crash crash = Crash::kKilled;
  std::uint64_t seed = 0;  // of kTorn
};

class MemoryFiles : public FileSystem {
 public:
  MemoryFiles();

  // The disk that is found after a crash now; what is on it is durable.
  MemoryFiles after(const Look& look) const;
  // All files by path, and folders with a '/' at the end and no bytes.
  std::map<std::string, std::string> contents() const;
  // Writes everything to a folder of the system.
  void copy_to(const Path& folder) const;

  std::unique_ptr<WritableFile> create(const Path& path,
                                       std::uint64_t expected_bytes) override;
  void rename(const Path& from, const Path& to) override;
  void remove_file(const Path& path) override;
  void remove_folder(const Path& path) override;
  void make_folder(const Path& path) override;
  void sync_folder(const Path& path) override;
  std::vector<std::string> list(const Path& folder) override;
  std::optional<std::uint64_t> file_size(const Path& path) override;
  bool is_folder(const Path& path) override;
  std::string read(const Path& path) override;

  struct Node;  // a file or a folder

 private:
  using NodePtr = std::shared_ptr<Node>;
  explicit MemoryFiles(NodePtr root);

  NodePtr find(const Path& path) const;          // null if missing
  NodePtr at(const Path& path, bool is_folder);  // an error if missing

  // Held by every call and by every open file's.
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  NodePtr root_;
};

}  // namespace merak::checkpoint::testing
