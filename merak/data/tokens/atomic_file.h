// A large file that is written piece by piece and appears under its name only
// when it is whole: a crash leaves the old file or none, and perhaps a
// temporary one named PATH.*.tmp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace merak::data {

// All errors are runtime errors that name the path. One thread at a time.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();  // without commit(): removes what was written
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::string_view bytes);

  // Replaces bytes that were appended before: a header with totals.
  void overwrite(std::uint64_t offset, std::string_view bytes);

  // Syncs and renames; nothing may be written after.
  void commit();

 private:
  void flush();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::string buffer_;
  int fd_ = -1;
};

}  // namespace merak::data
