#include "merak/checkpoint/testing/saves.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "merak/base/error.h"
#include "merak/checkpoint/async_saver.h"
#include "merak/checkpoint/checkpoint.h"
#include "merak/checkpoint/safetensors/testing.h"

namespace merak::checkpoint::testing {
namespace {

namespace fs = std::filesystem;

// Rows [rank/ranks, (rank+1)/ranks) of the tensor.
Slice rows_of(const Shape& shape, int rank, int ranks) {
  Slice slice = whole(shape);
  if (shape.empty()) return slice;
  slice.offset[0] = shape[0] * rank / ranks;
  slice.extent[0] = shape[0] * (rank + 1) / ranks - slice.offset[0];
  return slice;
}

std::string write_one(FileSystem& files, const SaveTarget& target,
                      std::span<const ShardTensor> tensors,
                      bool in_background) {
  if (!in_background) return write_shards(files, target, tensors);
  AsyncSaver saver([](const std::string& lost) { ADD_FAILURE() << lost; });
  saver.start(files, target, tensors);
  return saver.wait();
}

}  // namespace

std::vector<WholeTensor> make_state(std::uint64_t version) {
  const std::vector<TensorInfo> infos = {
      {"weight", "wte.weight", DType::kF32, {5, 3}},
      {"weight", "bias", DType::kF16, {4}},
      {"weight", "none", DType::kBF16, {0, 3}},
      {"weight", "mask", DType::kBool, {2, 1, 2}},
      {"exp_avg", "wte.weight", DType::kF64, {5, 3}},
      {"step", "wte.weight", DType::kI64, {}}};
  std::vector<WholeTensor> state;
  std::mt19937_64 random(version);
  for (const TensorInfo& info : infos) {
    const auto bytes = checked_bytes(info.shape, info.dtype).value();
    state.push_back(
        {info, random_bytes(static_cast<std::size_t>(bytes), random)});
  }
  return state;
}

RankState::RankState(std::uint64_t version, int rank, int ranks) {
  for (const WholeTensor& tensor : make_state(version)) {
    const TensorInfo& info = tensor.info;
    if (info.shape.empty() && rank != 0) continue;
    const Slice slice = rows_of(info.shape, rank, ranks);
    bytes_.push_back(
        naive_box(tensor.bytes, info.shape, slice, size_of(info.dtype)));
    tensors_.push_back({info, slice, bytes_.back()});
  }
}

Publication publication(const fs::path& run, const Save& what) {
  return {.checkpoints = run / "checkpoints",
          .step = what.step,
          .layout = fmt::format(R"({{"data":{}}})", what.ranks),
          .model = R"({"model_type":"gpt2"})",
          .trainer = fmt::format(R"({{"version":{}}})", what.version),
          .keep = what.keep};
}

void save(FileSystem& files, const fs::path& run, const Save& what,
          const Warn& warn) {
  const Publication published = publication(run, what);
  std::vector<std::string> manifests;
  for (int rank = 0; rank < what.ranks; ++rank) {
    const SaveTarget target{published.checkpoints, what.step, rank};
    const RankState state(what.version, rank, what.ranks);
    try {
      manifests.push_back(
          write_one(files, target, state.tensors(), what.in_background));
    } catch (const Error& error) {
      manifests.push_back(failed_manifest(target, error.what()));
    }
  }
  publish(files, published, manifests, warn);
}

void expect_holds(const fs::path& folder, const Save& what) {
  const Checkpoint saved = open_checkpoint(folder);
  EXPECT_EQ(saved.step(), what.step);
  EXPECT_EQ(saved.trainer(), publication({}, what).trainer);
  const std::vector<WholeTensor> state = make_state(what.version);
  std::vector<TensorInfo> infos;
  for (const WholeTensor& tensor : state) {
    infos.push_back(tensor.info);
    std::vector<std::byte> read(tensor.bytes.size());
    saved.read(tensor.info, whole(tensor.info.shape), read);
    EXPECT_EQ(read, tensor.bytes) << text(tensor.info);
  }
  saved.require(infos);
}

}  // namespace merak::checkpoint::testing
