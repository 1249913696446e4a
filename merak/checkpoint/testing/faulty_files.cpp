#include "merak/checkpoint/testing/faulty_files.h"

#include <utility>

#include "merak/base/error.h"

namespace merak::checkpoint::testing {

class FaultyFile : public WritableFile {
 public:
  FaultyFile(FaultyFiles& files, FileSystem::Path path,
             std::unique_ptr<WritableFile> beneath)
      : files_(files), path_(std::move(path)), beneath_(std::move(beneath)) {}

  // The first to go wrong has written a beginning.
  void append(std::string_view bytes) override {
    const bool is_first = !files_.has_struck();
    const bool strikes = files_.strikes(Kind::kWrite, "write", path_);
    if (!strikes) return beneath_->append(bytes);
    if (files_.fault_ == Fault::kFlip) return append_other(bytes);
    if (is_first) beneath_->append(bytes.substr(0, bytes.size() / 2));
    files_.go_wrong(Kind::kWrite, "write", path_);
  }
  void sync() override {
    files_.begin(Kind::kWrite, "sync", path_);
    beneath_->sync();
  }
  void close() override {
    files_.begin(Kind::kWrite, "close", path_);
    beneath_->close();
  }

 private:
  using Kind = FaultyFiles::Kind;

  void append_other(std::string_view bytes) {
    std::string other(bytes);
    if (!other.empty()) other.back() = static_cast<char>(other.back() ^ 1);
    beneath_->append(other);
  }

  FaultyFiles& files_;
  FileSystem::Path path_;
  std::unique_ptr<WritableFile> beneath_;
};

bool FaultyFiles::strikes(Kind kind, const std::string& what,
                          const Path& path) {
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<std::int64_t>(operations_.size());
  operations_.push_back(what + " " + path.string());
  const bool strikes =
      (fault_ == Fault::kError && number == at_) ||
      (fault_ == Fault::kFlip && number == at_ && what == "write") ||
      (fault_ == Fault::kKill && number >= at_) ||
      (fault_ == Fault::kFull && number >= at_ && kind == Kind::kWrite);
  if (strikes && struck_.empty()) struck_ = operations_.back();
  return strikes;
}

void FaultyFiles::go_wrong(Kind kind, const std::string& what,
                           const Path& path) const {
  if (fault_ == Fault::kKill) throw Killed();
  // As of system_files(): what cannot be read is a usage error.
  throw Error(kind == Kind::kRead ? ErrorKind::kUsage : ErrorKind::kRuntime,
              fmt::format("cannot {} {}: {}", what, path.string(),
                          fault_ == Fault::kFull ? "No space left on device"
                                                 : "Input/output error"));
}

void FaultyFiles::begin(Kind kind, const std::string& what, const Path& path) {
  if (strikes(kind, what, path)) go_wrong(kind, what, path);
}

std::unique_ptr<WritableFile> FaultyFiles::create(
    const Path& path, std::uint64_t expected_bytes) {
  begin(Kind::kWrite, "create", path);
  return std::make_unique<FaultyFile>(*this, path,
                                      beneath_.create(path, expected_bytes));
}

void FaultyFiles::rename(const Path& from, const Path& to) {
  begin(Kind::kName, "rename", from);
  beneath_.rename(from, to);
}

void FaultyFiles::remove_file(const Path& path) {
  begin(Kind::kName, "remove", path);
  beneath_.remove_file(path);
}

void FaultyFiles::remove_folder(const Path& path) {
  begin(Kind::kName, "remove the folder", path);
  beneath_.remove_folder(path);
}

void FaultyFiles::make_folder(const Path& path) {
  begin(Kind::kWrite, "make the folder", path);
  beneath_.make_folder(path);
}

void FaultyFiles::sync_folder(const Path& path) {
  begin(Kind::kName, "sync the folder", path);
  beneath_.sync_folder(path);
}

std::vector<std::string> FaultyFiles::list(const Path& folder) {
  begin(Kind::kName, "list the folder", folder);
  return beneath_.list(folder);
}

std::optional<std::uint64_t> FaultyFiles::file_size(const Path& path) {
  begin(Kind::kName, "find", path);
  return beneath_.file_size(path);
}

bool FaultyFiles::is_folder(const Path& path) {
  begin(Kind::kName, "find", path);
  return beneath_.is_folder(path);
}

std::string FaultyFiles::read(const Path& path) {
  begin(Kind::kRead, "read", path);
  return beneath_.read(path);
}

}  // namespace merak::checkpoint::testing
