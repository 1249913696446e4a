// Samples by number, and batches of them as named tensors without LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merak/base/dtype.h"

namespace merak::data {

// A contiguous tensor in row-major order.
struct BatchTensor {
  std::string name;  // of the model's input
  DType dtype = DType::kI64;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

struct Batch {
  std::vector<BatchTensor> tensors;

  // Null if there is none of that name.
  const BatchTensor* find(std::string_view name) const;
};

inline constexpr std::int64_t kIgnoredLabel = -100;  // as in PyTorch

// Implementations are immutable: any thread may read.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::uint64_t num_samples() const = 0;

  // The samples of these numbers, in order; kNoSample gives one that counts
  // for nothing (all labels ignored).
  virtual Batch make_batch(std::span<const std::uint64_t> ids) const = 0;
};

}  // namespace merak::data
