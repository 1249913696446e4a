#include "merak/base/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/file.h"

namespace merak {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

class SystemFile : public WritableFile {
 public:
  SystemFile(const fs::path& path, std::uint64_t expected_bytes)
      : path_(path.string()),
        expected_(expected_bytes),
        fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                   0666)) {
    if (fd_ < 0) fail_to_write(errno);
  }
  ~SystemFile() override {
    if (fd_ >= 0) ::close(fd_);
  }
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;

  void append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
        written_ += static_cast<std::uint64_t>(n);
      } else if (n == 0 || errno != EINTR) {
        fail_to_write(n == 0 ? ENOSPC : errno);
      }
    }
  }

  void sync() override {
    if (::fsync(fd_) != 0) fail_to_write(errno);
  }

  void close() override {
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0) fail_to_write(errno);
  }

 private:
  [[noreturn]] void fail_to_write(int error) const {
    fail_runtime("cannot write {}: {}; it needs {} bytes, {} were written",
                 path_, reason(error), expected_, written_);
  }

  std::string path_;
  std::uint64_t expected_;
  std::uint64_t written_ = 0;
  int fd_;
};

// Nothing if there is nothing of that name. That the system does not say is an
// error: taken for an absence, it would lose what is there.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) return std::nullopt;
  fail_runtime("cannot look at {}: {}", path.string(), reason(error));
}

class SystemFiles : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const Path& path,
                                       std::uint64_t expected_bytes) override {
    return std::make_unique<SystemFile>(path, expected_bytes);
  }

  void rename(const Path& from, const Path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      fail_runtime("cannot rename {} to {}: {}", from.string(), to.string(),
                   reason(errno));
    }
  }

  void remove_file(const Path& path) override {
    if (::unlink(path.c_str()) != 0) {
      fail_runtime("cannot remove {}: {}", path.string(), reason(errno));
    }
  }

  void remove_folder(const Path& path) override {
    if (::rmdir(path.c_str()) != 0) {
      fail_runtime("cannot remove the folder {}: {}", path.string(),
                   reason(errno));
    }
  }

  void make_folder(const Path& path) override {
    if (::mkdir(path.c_str(), 0777) == 0) return;
    const int error = errno;
    if (error == EEXIST && is_folder(path)) return;
    fail_runtime("cannot make the folder {}: {}", path.string(), reason(error));
  }

  void sync_folder(const Path& path) override { merak::sync_folder(path); }

  std::vector<std::string> list(const Path& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      names.push_back(at->path().filename().string());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      fail_runtime("cannot list the folder {}: {}", folder.string(),
                   error.message());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::optional<std::uint64_t> file_size(const Path& path) override {
    const auto status = status_of(path);
    if (!status || !S_ISREG(status->st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(status->st_size);
  }

  bool is_folder(const Path& path) override {
    const auto status = status_of(path);
    return status && S_ISDIR(status->st_mode);
  }

  std::string read(const Path& path) override { return read_file(path); }
};

fs::path holder(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

}  // namespace

FileSystem& system_files() {
  static SystemFiles files;  // stateless
  return files;
}

void make_durable_folder(FileSystem& files, const fs::path& path) {
  // "a/b/" has an empty last component: its holder would be itself.
  const fs::path folder = path.has_filename() ? path : path.parent_path();
  const fs::path parent = holder(folder);
  if (!files.is_folder(parent)) make_durable_folder(files, parent);
  files.make_folder(folder);
  files.sync_folder(parent);
}

AtomicFile::AtomicFile(FileSystem& files, fs::path path,
                       std::uint64_t expected_bytes)
    : files_(files), path_(std::move(path)), aside_(path_) {
  aside_ += ".tmp";
  file_ = files_.create(aside_, expected_bytes);
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  try {
    file_.reset();
    if (files_.file_size(aside_)) files_.remove_file(aside_);
  } catch (...) {
    // The failure that brought us here is the one to report.
  }
}

void AtomicFile::commit() {
  file_->sync();
  file_->close();
  files_.rename(aside_, path_);
  committed_ = true;
  files_.sync_folder(holder(path_));
}

}  // namespace merak
