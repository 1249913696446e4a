// Training states made up for tests, and saving them as ranks do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "merak/checkpoint/publish.h"
#include "merak/checkpoint/shard_writer.h"

namespace merak::checkpoint::testing {

// A whole tensor with its bytes.
struct WholeTensor {
  TensorInfo info;
  std::vector<std::byte> bytes;
};

// Weights and optimizer state of several types, with a scalar and an empty
// tensor. Names, types and shapes are always the same, every value depends on
// `version`.
std::vector<WholeTensor> make_state(std::uint64_t version);

struct Save {
  std::int64_t step = 0;
  std::uint64_t version = 0;  // of the state; it is the trainer's "version"
  int keep = 1;
  int ranks = 2;
  bool in_background = false;  // by AsyncSaver, one rank after the other
};

// What one of `ranks` ranks holds, cut along the first dimension; what cannot
// be cut is rank 0's. Owns the bytes.
class RankState {
 public:
  RankState(std::uint64_t version, int rank, int ranks);
  ~RankState() = default;
  RankState(const RankState&) = delete;
  RankState& operator=(const RankState&) = delete;
  std::span<const ShardTensor> tensors() const { return tensors_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<ShardTensor> tensors_;
};

Publication publication(const std::filesystem::path& run, const Save& what);

// Writes the shards of all ranks, gathers, publishes. A rank that cannot write
// says so in its manifest.
void save(FileSystem& files, const std::filesystem::path& run, const Save& what,
          const Warn& warn);

// Fails the test unless the folder is a sound checkpoint of exactly that save.
void expect_holds(const std::filesystem::path& folder, const Save& what);

}  // namespace merak::checkpoint::testing
