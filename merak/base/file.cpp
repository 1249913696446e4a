#include "merak/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "merak/base/error.h"

namespace merak {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// A file descriptor that closes itself.
class File {
 public:
  File(const fs::path& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

  // Closing reports what delayed writes could not do (full disk over NFS).
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

}  // namespace

fs::file_type type_at(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::none) {
    fail_usage("cannot read {}: {}", path.string(), error.message());
  }
  return type;
}

bool path_exists(const fs::path& path) {
  return type_at(path) != fs::file_type::not_found;
}

bool path_is_file(const fs::path& path) {
  return type_at(path) == fs::file_type::regular;
}

bool path_is_folder(const fs::path& path) {
  return type_at(path) == fs::file_type::directory;
}

std::string read_file(const fs::path& path) {
  File file(path, O_RDONLY);
  if (!file.is_open()) {
    fail_usage("cannot read {}: {}", path.string(), reason(errno));
  }
  struct stat status {};
  if (::fstat(file.fd(), &status) == 0 && S_ISDIR(status.st_mode)) {
    fail_usage("cannot read {}: it is a folder", path.string());
  }
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(status.st_size));
  std::array<char, 1 << 16> block{};
  while (true) {
    const ssize_t n = ::read(file.fd(), block.data(), block.size());
    if (n == 0) return bytes;
    if (n > 0) {
      bytes.append(block.data(), static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      fail_usage("cannot read {}: {}", path.string(), reason(errno));
    }
  }
}

void write_all(int fd, std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      fail_runtime("cannot write {}: {}", what, reason(errno));
    }
  }
}

void sync_folder(const fs::path& folder) {
  const fs::path path = folder.empty() ? fs::path(".") : folder;
  File file(path, O_RDONLY | O_DIRECTORY);
  // Some network file systems cannot sync a folder: nothing we could mend.
  if (!file.is_open() || (::fsync(file.fd()) != 0 && errno != EINVAL)) {
    fail_runtime("cannot sync folder {}: {}", path.string(), reason(errno));
  }
}

void write_file_atomic(const fs::path& path, std::string_view bytes) {
  // The process id keeps two ranks that write the same file apart.
  fs::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  try {
    File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) {
      fail_runtime("cannot write {}: {}", path.string(), reason(errno));
    }
    write_all(file.fd(), bytes, path.string());
    if (::fsync(file.fd()) != 0 || !file.close() ||
        ::rename(temporary.c_str(), path.c_str()) != 0) {
      fail_runtime("cannot write {}: {}", path.string(), reason(errno));
    }
  } catch (const Error&) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(path.parent_path());
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    fail_runtime("cannot make the folder {}: {}", path.string(),
                 error.message());
  }
}

}  // namespace merak
