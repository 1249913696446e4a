#include "merak/checkpoint/async_saver.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "merak/base/error.h"

namespace merak::checkpoint {
namespace {

// Tensors whose bytes lie in one block of their own.
struct Snapshot {
  std::unique_ptr<std::byte[]> memory;
  std::vector<ShardTensor> tensors;
};

Snapshot take_snapshot(std::span<const ShardTensor> tensors) {
  std::size_t total = 0;
  for (const ShardTensor& tensor : tensors) total += tensor.bytes.size();
  Snapshot snapshot;
  try {
    snapshot.memory = std::make_unique_for_overwrite<std::byte[]>(total);
  } catch (const std::bad_alloc&) {
    fail_runtime(
        "no memory to copy {} bytes for a checkpoint in the "
        "background",
        total);
  }
  snapshot.tensors.assign(tensors.begin(), tensors.end());
  std::byte* at = snapshot.memory.get();
  for (ShardTensor& tensor : snapshot.tensors) {
    if (tensor.bytes.empty()) continue;
    std::memcpy(at, tensor.bytes.data(), tensor.bytes.size());
    tensor.bytes = {at, tensor.bytes.size()};
    at += tensor.bytes.size();
  }
  return snapshot;
}

}  // namespace

AsyncSaver::~AsyncSaver() {
  if (!pending_) return;
  try {
    wait();
  } catch (const std::exception& error) {
    lost_(error.what());
  }
}

void AsyncSaver::start(FileSystem& files, const SaveTarget& target,
                       std::span<const ShardTensor> tensors,
                       std::function<void(const std::string& manifest)> then) {
  wait();
  Snapshot snapshot = take_snapshot(tensors);
  thread_ = std::thread([this, &files, target, then = std::move(then),
                         snapshot = std::move(snapshot)] {
    try {
      manifest_ = write_shards(files, target, snapshot.tensors);
      if (then) then(manifest_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
  pending_ = true;
}

std::string AsyncSaver::wait() {
  if (!pending_) return {};
  thread_.join();
  pending_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return std::exchange(manifest_, {});
}

}  // namespace merak::checkpoint
