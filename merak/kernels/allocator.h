// The CPU allocator of a training process: it keeps its pages and counts.
//
// Programs ask for the same sizes again and again. Freed blocks go to a list of
// their size and serve the next request of that size, so a step faults no page
// after the first. Blocks are aligned to 64 bytes (vector kernels' bits depend
// on it); large ones ask for huge pages.
//
// Counted are the bytes asked for, live and at their peak: exact numbers that a
// plan can be compared with, unlike a resident size. Thread-safe.
#pragma once

#include <cstdint>

namespace merak::kernels {

// Makes it LibTorch's CPU allocator for the rest of the process. Memory that
// other allocators gave goes back to them. Any number of times.
void install_allocator();

struct MemoryCount {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  // since the last reset_peak
  std::int64_t kept_bytes = 0;  // free, held for reuse
};
MemoryCount memory_count();
void reset_peak();

// Gives the free blocks back to the system.
void trim();

}  // namespace merak::kernels
