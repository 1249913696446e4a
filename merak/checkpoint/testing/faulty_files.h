// A file system that goes wrong at one operation, over one that does not.
//
// Every call is an operation, an open file's calls too; they are counted from
// 0. With a fault at number n, operations below n work.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "merak/base/file_system.h"

namespace merak::checkpoint::testing {

enum class Fault {
  kNone,
  kError,  // operation n alone fails with an input/output error
  kFull,   // from n on nothing can be written; the rest works
  kKill,   // operation n and all later ones throw Killed
  kFlip,   // operation n, if it writes bytes, writes others and says nothing
};

// The process is dead: nothing may have an effect any more. No merak::Error,
// so that nobody takes it for a failure to be handled.
class Killed : public std::exception {
 public:
  const char* what() const noexcept override { return "killed"; }
};

class FaultyFiles : public FileSystem {
 public:
  explicit FaultyFiles(FileSystem& beneath, Fault fault = Fault::kNone,
                       std::int64_t at = 0)
      : beneath_(beneath), fault_(fault), at_(at) {}

  // Operations that were asked for, in order: "rename /run/a.tmp".
  const std::vector<std::string>& operations() const { return operations_; }
  // Whether anything went wrong.
  bool has_struck() const { return !struck_.empty(); }
  // The first operation that did.
  const std::string& struck() const { return struck_; }

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

 private:
  friend class FaultyFile;
  enum class Kind { kRead, kWrite, kName };

  // Counts an operation; throws if it is to go wrong.
  void begin(Kind kind, const std::string& what, const Path& path);
  // Counts an operation; whether it is to go wrong.
  bool strikes(Kind kind, const std::string& what, const Path& path);
  [[noreturn]] void go_wrong(Kind kind, const std::string& what,
                             const Path& path) const;

  FileSystem& beneath_;
  Fault fault_;
  std::int64_t at_;
  std::mutex mutex_;  // of what follows
  std::vector<std::string> operations_;
  std::string struck_;
};

}  // namespace merak::checkpoint::testing
