#include "merak/data/token_dataset.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "merak/base/error.h"
#include "merak/data/batch_sampler.h"

namespace merak::data {
namespace {

BatchTensor tensor_of(const char* name, std::span<const std::int64_t> values,
                      std::vector<std::int64_t> shape) {
  BatchTensor tensor{name, DType::kI64, std::move(shape), {}};
  tensor.bytes.resize(values.size_bytes());
  std::memcpy(tensor.bytes.data(), values.data(), values.size_bytes());
  return tensor;
}

}  // namespace

const BatchTensor* Batch::find(std::string_view name) const {
  for (const BatchTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

TokenDataset::TokenDataset(TokenStream stream, std::int64_t sequence_length,
                           Tail tail, const std::string& key)
    : stream_(std::move(stream)), sequence_length_(sequence_length) {
  if (sequence_length < 1) {
    fail_usage("data.sequence_length is {}; it must be at least 1",
               sequence_length);
  }
  const std::uint64_t tokens = stream_.size();
  const auto length = static_cast<std::uint64_t>(sequence_length);
  if (tokens > 0) {
    num_samples_ = (tokens - 1) / length;
    if (tail == Tail::kPad && (tokens - 1) % length != 0) ++num_samples_;
  }
  if (num_samples_ == 0) {
    fail_usage(
        "{} holds {} tokens; one sample with data.sequence_length {} "
        "needs {}",
        key, tokens, length, tail == Tail::kPad ? 2 : length + 1);
  }
}

std::vector<std::int64_t> TokenDataset::sample(std::uint64_t id) const {
  MERAK_CHECK(id < num_samples_, "sample {} of {}", id, num_samples_);
  const auto length = static_cast<std::uint64_t>(sequence_length_);
  const std::uint64_t first = id * length;
  std::vector<std::int64_t> tokens(
      std::min(length + 1, stream_.size() - first));
  stream_.read(first, tokens);
  return tokens;
}

Batch TokenDataset::make_batch(std::span<const std::uint64_t> ids) const {
  const auto length = static_cast<std::size_t>(sequence_length_);
  std::vector<std::int64_t> inputs(ids.size() * length, 0);
  std::vector<std::int64_t> labels(ids.size() * length, kIgnoredLabel);
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (ids[row] == kNoSample) continue;
    const std::vector<std::int64_t> tokens = sample(ids[row]);
    const auto at = static_cast<std::ptrdiff_t>(row * length);
    std::copy(tokens.begin(), tokens.end() - 1, inputs.begin() + at);
    std::copy(tokens.begin() + 1, tokens.end(), labels.begin() + at);
  }
  const std::vector<std::int64_t> shape = {
      static_cast<std::int64_t>(ids.size()), sequence_length_};
  Batch batch;
  batch.tensors.push_back(tensor_of("input_ids", inputs, shape));
  batch.tensors.push_back(tensor_of("labels", labels, shape));
  return batch;
}

}  // namespace merak::data
