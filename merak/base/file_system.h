// The file system, for code that must leave a sound state behind wherever it is
// interrupted. Such code takes a FileSystem, so that a test can put one beneath
// it that forgets unsynced data or fills up at any operation.
//
// Durability is POSIX's and explicit: a file's bytes are safe after sync() of
// the file, its name after sync_folder() of the folder it lies in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace merak {

// Runtime errors name the path, the reason, and how many bytes were wanted.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual void append(std::string_view bytes) = 0;
  virtual void sync() = 0;
  virtual void close() = 0;  // reports what delayed writes could not do
};

// All calls throw a runtime error that names path and reason if the system
// refuses. Any number of threads may use one FileSystem.
class FileSystem {
 public:
  using Path = std::filesystem::path;

  virtual ~FileSystem() = default;

  // A new empty file, in place of one of that name. `expected_bytes` is how
  // long it will get: errors say so.
  virtual std::unique_ptr<WritableFile> create(
      const Path& path, std::uint64_t expected_bytes) = 0;
  virtual void rename(const Path& from, const Path& to) = 0;
  virtual void remove_file(const Path& path) = 0;
  virtual void remove_folder(const Path& path) = 0;  // must be empty
  // One level. Nothing happens if it is there.
  virtual void make_folder(const Path& path) = 0;
  virtual void sync_folder(const Path& path) = 0;

  // Names in a folder, sorted; none if it is missing.
  virtual std::vector<std::string> list(const Path& folder) = 0;
  // Nothing if there is no plain file of that name.
  virtual std::optional<std::uint64_t> file_size(const Path& path) = 0;
  virtual bool is_folder(const Path& path) = 0;
  virtual std::string read(const Path& path) = 0;
};

// The system's own.
FileSystem& system_files();

// Makes a folder and those above it, each synced into the one that holds it,
// this one also when it was there already.
void make_durable_folder(FileSystem& files, const std::filesystem::path& path);

// A file that appears under its name whole or not at all: written as
// PATH.tmp, and renamed by commit(). Whoever writes the same path at the same
// time must be kept away by the caller.
class AtomicFile {
 public:
  AtomicFile(FileSystem& files, std::filesystem::path path,
             std::uint64_t expected_bytes);
  ~AtomicFile();  // without commit: removes PATH.tmp
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::string_view bytes) { file_->append(bytes); }
  // Syncs, renames, syncs the folder.
  void commit();

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::filesystem::path aside_;
  std::unique_ptr<WritableFile> file_;
  bool committed_ = false;
};

}  // namespace merak
