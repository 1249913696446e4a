#include "merak/runtime/parameters.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "merak/base/error.h"
#include "merak/partition/tied_uses.h"

namespace merak::runtime {
namespace {

// Large enough that latency does not count, small enough that the first bucket
// leaves while most of the backward is still to come.
constexpr std::int64_t kBucketBytes = 8 << 20;
constexpr std::int64_t kAlignment = 64;  // bytes; vector kernels' bits depend

std::int64_t aligned(std::int64_t elements, std::int64_t element_size) {
  const std::int64_t unit = kAlignment / element_size;
  return (elements + unit - 1) / unit * unit;
}

bool intersects(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int item) {
    return std::find(b.begin(), b.end(), item) != b.end();
  });
}

}  // namespace

ParameterStore::ParameterStore(
    const CompiledModel& model, const std::vector<int>& stages,
    const std::vector<std::string>& backward_order,
    const std::function<at::Tensor(const ParameterInfo&)>& fill) {
  for (const ParameterInfo& info : model.parameters) {
    if (!intersects(info.stages, stages)) continue;
    const bool first = std::find(stages.begin(), stages.end(),
                                 info.stages.front()) != stages.end();
    by_name_[info.name] = parameters_.size();
    parameters_.push_back(
        {info.name, fill(info), info.trainable, first,
         std::vector<at::Tensor>(static_cast<std::size_t>(info.uses)),
         info.stages});
  }
  for (const ParameterInfo& info : model.buffers) {
    if (intersects(info.stages, stages)) buffers_[info.name] = fill(info);
  }
  make_buckets(backward_order);
}

void ParameterStore::make_buckets(
    const std::vector<std::string>& backward_order) {
  std::size_t next = 0;
  while (next < backward_order.size()) {
    Bucket bucket;
    std::vector<std::int64_t> offsets;
    std::int64_t elements = 0;
    const at::Tensor& first = value(backward_order[next]);
    const auto size = static_cast<std::int64_t>(first.element_size());
    for (; next < backward_order.size(); ++next) {
      const at::Tensor& parameter = value(backward_order[next]);
      const bool fits = (elements + parameter.numel()) * size <= kBucketBytes &&
                        parameter.scalar_type() == first.scalar_type();
      if (!bucket.uses.empty() && !fits) break;
      offsets.push_back(elements);
      bucket.uses.push_back(backward_order[next]);
      elements += aligned(parameter.numel(), size);
    }
    bucket.flat = at::zeros({elements}, first.options());
    for (std::size_t i = 0; i < bucket.uses.size(); ++i) {
      const std::string& use = bucket.uses[i];
      const at::Tensor& parameter = value(use);
      const at::Tensor gradient =
          bucket.flat.narrow(0, offsets[i], parameter.numel())
              .view(parameter.sizes());
      gradients_[use] = gradient;
      bucket_of_[use] = buckets_.size();
      const std::string name = partition::parameter_of_use(use);
      const auto number = use.size() == name.size()
                              ? std::size_t{0}
                              : static_cast<std::size_t>(
                                    std::stoi(use.substr(name.size() + 1)));
      parameters_[by_name_.at(name)].gradients.at(number) = gradient;
    }
    buckets_.push_back(std::move(bucket));
  }
}

const at::Tensor& ParameterStore::value(const std::string& use) const {
  const auto found = by_name_.find(partition::parameter_of_use(use));
  MERAK_CHECK(found != by_name_.end(), "this rank does not hold '{}'", use);
  return parameters_[found->second].value;
}

const at::Tensor& ParameterStore::gradient(const std::string& use) const {
  const auto found = gradients_.find(use);
  MERAK_CHECK(found != gradients_.end(), "no gradient of '{}' here", use);
  return found->second;
}

std::size_t ParameterStore::bucket_of(const std::string& use) const {
  return bucket_of_.at(use);
}

}  // namespace merak::runtime
