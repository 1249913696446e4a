// A whole file as read-only memory. Pages are read when touched, and shared
// by all processes that map the same file.
#pragma once

#include <filesystem>
#include <string_view>

namespace merak {

class MappedFile {
 public:
  // A usage error that names the path and the reason if it cannot be opened
  // or is not a plain file. An empty file is an empty view.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Valid while this object lives. Nobody may shorten the file meanwhile: the
  // system kills a process that reads mapped bytes that are gone.
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace merak
