#include "merak/data/tokens/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/file.h"

namespace merak::data {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

[[noreturn]] void fail_to_write(const std::filesystem::path& path) {
  const int error = errno;
  fail_runtime("cannot write {}: {}", path.string(),
               std::error_code(error, std::generic_category()).message());
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  // The process id alone would not keep the ranks of two machines apart.
  temporary_ = path_;
  temporary_ +=
      fmt::format(".{}-{:08x}.tmp", ::getpid(), std::random_device()());
  fd_ =
      ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_to_write(path_);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::append(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) flush();
}

void AtomicFile::flush() {
  write_all(fd_, buffer_, path_.string());
  buffer_.clear();
}

void AtomicFile::overwrite(std::uint64_t offset, std::string_view bytes) {
  flush();
  if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) {
    fail_to_write(path_);
  }
  write_all(fd_, bytes, path_.string());
  if (::lseek(fd_, 0, SEEK_END) < 0) fail_to_write(path_);
}

void AtomicFile::commit() {
  flush();
  if (::fsync(fd_) != 0) fail_to_write(path_);
  const int closed = ::close(std::exchange(fd_, -1));
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    errno = error;
    fail_to_write(path_);
  }
  sync_folder(path_.parent_path());
}

}  // namespace merak::data
