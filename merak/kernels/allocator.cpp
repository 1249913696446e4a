#include "merak/kernels/allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace merak::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = 2 << 20;

// In front of each block, taking an alignment's room.
struct Header {
  std::size_t requested;
  std::size_t size;  // of the block, header not counted
};
static_assert(sizeof(Header) <= kAlignment);

// Small sizes are rounded to multiples of 64 bytes, large ones to an eighth of
// their magnitude, so that near sizes share blocks.
std::size_t size_class(std::size_t bytes) {
  std::size_t unit = kAlignment;
  while (unit * 64 < bytes) unit *= 2;
  return (bytes + unit - 1) / unit * unit;
}

class KeepingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::kCPU)};
    void* data = take(bytes);
    return {data, data, &release, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t count) const override {
    std::memcpy(to, from, count);
  }

  MemoryCount count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    count_.peak_bytes = count_.live_bytes;
  }

  void trim() {
    const std::lock_guard lock(mutex_);
    give_back();
  }

  // Lives as long as the process: tensors may be freed by anyone's destructor.
  static KeepingAllocator& instance() {
    static auto* allocator = new KeepingAllocator();
    return *allocator;
  }

 private:
  static void release(void* data) {
    if (data != nullptr) instance().put(data);
  }

  static Header& header_of(void* data) {
    return *reinterpret_cast<Header*>(static_cast<char*>(data) - kAlignment);
  }

  void* take(std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    void* data = nullptr;
    std::vector<void*>& list = free_[size];
    if (!list.empty()) {
      data = list.back();
      list.pop_back();
      count_.kept_bytes -= static_cast<std::int64_t>(size);
    } else {
      data = make(size, bytes);
    }
    header_of(data) = {bytes, size};
    count_.live_bytes += static_cast<std::int64_t>(bytes);
    count_.peak_bytes = std::max(count_.peak_bytes, count_.live_bytes);
    return data;
  }

  void put(void* data) {
    const std::lock_guard lock(mutex_);
    const Header header = header_of(data);
    count_.live_bytes -= static_cast<std::int64_t>(header.requested);
    count_.kept_bytes += static_cast<std::int64_t>(header.size);
    free_[header.size].push_back(data);
  }

  // Fresh memory; what is kept goes back first if the system has no more.
  void* make(std::size_t size, std::size_t bytes) {
    void* block = from_system(size);
    if (block == nullptr) {
      give_back();
      block = from_system(size);
    }
    TORCH_CHECK(block != nullptr, "out of memory: ", bytes,
                " bytes asked for, ", count_.live_bytes, " in use");
    return static_cast<char*>(block) + kAlignment;
  }

  static void* from_system(std::size_t size) {
    const std::size_t alignment = size >= kHugePage ? kHugePage : kAlignment;
    void* block = nullptr;
    if (posix_memalign(&block, alignment, size + kAlignment) != 0) {
      return nullptr;
    }
    if (size >= kHugePage) madvise(block, size, MADV_HUGEPAGE);
    return block;
  }

  void give_back() {
    for (auto& [size, list] : free_) {
      for (void* data : list) std::free(static_cast<char*>(data) - kAlignment);
    }
    free_.clear();
    count_.kept_bytes = 0;
  }

  std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<void*>> free_;
  MemoryCount count_;
};

}  // namespace

void install_allocator() {
  c10::SetCPUAllocator(&KeepingAllocator::instance(), /*priority=*/100);
}

MemoryCount memory_count() { return KeepingAllocator::instance().count(); }
void reset_peak() { KeepingAllocator::instance().reset_peak(); }
void trim() { KeepingAllocator::instance().trim(); }

}  // namespace merak::kernels
