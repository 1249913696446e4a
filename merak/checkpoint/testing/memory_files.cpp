#include "merak/checkpoint/testing/memory_files.h"

#include <fstream>
#include <random>
#include <utility>

#include "merak/base/error.h"

namespace merak::checkpoint::testing {

namespace fs = std::filesystem;

// A change to a folder's names: an addition has no `from`, a removal no `to`.
struct Change {
  std::string from;
  std::string to;
  std::shared_ptr<MemoryFiles::Node> node;
};

using Names = std::map<std::string, std::shared_ptr<MemoryFiles::Node>>;

struct MemoryFiles::Node {
  bool is_folder = false;
  // A file's.
  std::string bytes = {};
  std::string durable_bytes = {};
  // A folder's.
  Names names = {};
  Names durable_names = {};
  std::vector<Change> unsynced = {};
};

namespace {

using Node = MemoryFiles::Node;
using NodePtr = std::shared_ptr<Node>;

void apply_change(const Change& change, Names& names) {
  // What never reached the disk cannot be moved on it.
  if (!change.from.empty() && names.erase(change.from) == 0) return;
  if (!change.to.empty()) names[change.to] = change.node;
}

void record(Node& folder, Change change) {
  apply_change(change, folder.names);
  folder.unsynced.push_back(std::move(change));
}

class MemoryFile : public WritableFile {
 public:
  MemoryFile(NodePtr node, std::shared_ptr<std::mutex> mutex)
      : node_(std::move(node)), mutex_(std::move(mutex)) {}

  void append(std::string_view bytes) override {
    const std::lock_guard lock(*mutex_);
    node_->bytes += bytes;
  }
  void sync() override {
    const std::lock_guard lock(*mutex_);
    node_->durable_bytes = node_->bytes;
  }
  void close() override {}

 private:
  NodePtr node_;
  std::shared_ptr<std::mutex> mutex_;
};

// Copies what a look finds.
class Survivor {
 public:
  explicit Survivor(const Look& look) : crash_(look.crash), coin_(look.seed) {}

  NodePtr copy(const Node& node) {
    auto found = std::make_shared<Node>();
    found->is_folder = node.is_folder;
    found->bytes = found->durable_bytes = bytes_of(node);
    for (const auto& [name, child] : names_of(node)) {
      found->names[name] = copy(*child);
    }
    found->durable_names = found->names;
    return found;
  }

 private:
  bool flip() { return coin_() % 2 == 0; }

  std::string bytes_of(const Node& file) {
    if (crash_ == Crash::kKilled) return file.bytes;
    const bool is_torn =
        crash_ == Crash::kTorn && file.bytes != file.durable_bytes && flip();
    return is_torn ? file.bytes.substr(0, coin_() % (file.bytes.size() + 1))
                   : file.durable_bytes;
  }

  Names names_of(const Node& folder) {
    if (crash_ == Crash::kKilled) return folder.names;
    Names names = folder.durable_names;
    if (crash_ == Crash::kPowerLoss) return names;
    for (const Change& change : folder.unsynced) {
      if (flip()) apply_change(change, names);
    }
    return names;
  }

  Crash crash_;
  std::mt19937_64 coin_;
};

void add_contents(const Node& node, std::string path,
                  std::map<std::string, std::string>& contents) {
  if (!node.is_folder) {
    contents[path] = node.bytes;
    return;
  }
  path += '/';
  contents[path];
  for (const auto& [name, child] : node.names) {
    add_contents(*child, path + name, contents);
  }
}

}  // namespace

MemoryFiles::MemoryFiles()
    : MemoryFiles(std::make_shared<Node>(Node{.is_folder = true})) {}

MemoryFiles::MemoryFiles(NodePtr root) : root_(std::move(root)) {}

MemoryFiles MemoryFiles::after(const Look& look) const {
  const std::lock_guard lock(*mutex_);
  return MemoryFiles(Survivor(look).copy(*root_));
}

std::map<std::string, std::string> MemoryFiles::contents() const {
  const std::lock_guard lock(*mutex_);
  std::map<std::string, std::string> contents;
  add_contents(*root_, "", contents);
  return contents;
}

void MemoryFiles::copy_to(const Path& folder) const {
  for (const auto& [path, bytes] : contents()) {
    const std::string to = folder.string() + path;
    if (path.ends_with('/')) {
      fs::create_directories(to);
    } else {
      std::ofstream(to, std::ios::binary) << bytes;
    }
  }
}

MemoryFiles::NodePtr MemoryFiles::find(const Path& path) const {
  MERAK_CHECK(path.is_absolute(), "{}", path.string());
  NodePtr node = root_;
  for (const Path& name : path.relative_path()) {
    const auto child = node->names.find(name.string());
    if (child == node->names.end()) return nullptr;
    node = child->second;
  }
  return node;
}

MemoryFiles::NodePtr MemoryFiles::at(const Path& path, bool is_folder) {
  NodePtr node = find(path);
  if (node == nullptr) {
    fail_runtime("{}: No such file or directory", path.string());
  }
  if (node->is_folder != is_folder) {
    fail_runtime("{}: {} a directory", path.string(), is_folder ? "Not" : "Is");
  }
  return node;
}

std::unique_ptr<WritableFile> MemoryFiles::create(const Path& path,
                                                  std::uint64_t) {
  const std::lock_guard lock(*mutex_);
  const NodePtr folder = at(path.parent_path(), true);
  NodePtr file = find(path);
  if (file == nullptr) {
    file = std::make_shared<Node>();
    record(*folder, {"", path.filename().string(), file});
  }
  at(path, false)->bytes.clear();
  return std::make_unique<MemoryFile>(file, mutex_);
}

void MemoryFiles::rename(const Path& from, const Path& to) {
  const std::lock_guard lock(*mutex_);
  MERAK_CHECK(from.parent_path() == to.parent_path(), "{} to {}", from.string(),
              to.string());
  const NodePtr folder = at(from.parent_path(), true);
  const NodePtr node = find(from);
  if (node == nullptr) {
    fail_runtime("{}: No such file or directory", from.string());
  }
  if (find(to) != nullptr && !at(to, node->is_folder)->names.empty()) {
    fail_runtime("{}: Directory not empty", to.string());
  }
  record(*folder, {from.filename().string(), to.filename().string(), node});
}

void MemoryFiles::remove_file(const Path& path) {
  const std::lock_guard lock(*mutex_);
  at(path, false);
  record(*at(path.parent_path(), true), {path.filename().string(), "", {}});
}

void MemoryFiles::remove_folder(const Path& path) {
  const std::lock_guard lock(*mutex_);
  if (!at(path, true)->names.empty()) {
    fail_runtime("{}: Directory not empty", path.string());
  }
  record(*at(path.parent_path(), true), {path.filename().string(), "", {}});
}

void MemoryFiles::make_folder(const Path& path) {
  const std::lock_guard lock(*mutex_);
  const NodePtr folder = at(path.parent_path(), true);
  if (find(path) != nullptr) {
    at(path, true);
    return;
  }
  record(*folder, {"", path.filename().string(),
                   std::make_shared<Node>(Node{.is_folder = true})});
}

void MemoryFiles::sync_folder(const Path& path) {
  const std::lock_guard lock(*mutex_);
  const NodePtr folder = at(path, true);
  folder->durable_names = folder->names;
  folder->unsynced.clear();
}

std::vector<std::string> MemoryFiles::list(const Path& folder) {
  const std::lock_guard lock(*mutex_);
  std::vector<std::string> names;
  if (find(folder) == nullptr) return names;
  for (const auto& [name, child] : at(folder, true)->names) {
    names.push_back(name);
  }
  return names;
}

std::optional<std::uint64_t> MemoryFiles::file_size(const Path& path) {
  const std::lock_guard lock(*mutex_);
  const NodePtr node = find(path);
  if (node == nullptr || node->is_folder) return std::nullopt;
  return node->bytes.size();
}

bool MemoryFiles::is_folder(const Path& path) {
  const std::lock_guard lock(*mutex_);
  const NodePtr node = find(path);
  return node != nullptr && node->is_folder;
}

std::string MemoryFiles::read(const Path& path) {
  const std::lock_guard lock(*mutex_);
  const NodePtr node = find(path);
  if (node == nullptr || node->is_folder) {
    fail_usage("cannot read {}", path.string());
  }
  return node->bytes;
}

}  // namespace merak::checkpoint::testing
