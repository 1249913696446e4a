#include "merak/runtime/exchange.h"

#include <algorithm>

namespace merak::runtime {
namespace {

template <typename T>
void sum_values(dist::Communicator* group, std::span<T> values, DType dtype) {
  if (group == nullptr || group->size() < 2 || values.empty()) return;
  group
      ->all_reduce(
          {values.data(), static_cast<std::int64_t>(values.size()), dtype},
          dist::ReduceOp::kSum)
      ->wait();
}

}  // namespace

void sum(dist::Communicator* group, std::span<double> values) {
  sum_values(group, values, DType::kF64);
}

void sum(dist::Communicator* group, std::span<std::int64_t> values) {
  sum_values(group, values, DType::kI64);
}

std::vector<std::int64_t> gather(dist::Communicator& group,
                                 std::int64_t value) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  group
      .all_gather({&value, 1, DType::kI64},
                  {all.data(), group.size(), DType::kI64})
      ->wait();
  return all;
}

std::vector<double> gather(dist::Communicator& group,
                           std::span<const double> values) {
  std::vector<double> own(values.begin(), values.end());
  std::vector<double> all(own.size() * static_cast<std::size_t>(group.size()));
  group
      .all_gather(
          {own.data(), static_cast<std::int64_t>(own.size()), DType::kF64},
          {all.data(), static_cast<std::int64_t>(all.size()), DType::kF64})
      ->wait();
  return all;
}

std::vector<std::string> gather_text(dist::Communicator& group,
                                     const std::string& text) {
  const std::vector<std::int64_t> sizes =
      gather(group, static_cast<std::int64_t>(text.size()));
  const std::int64_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::string own = text;
  own.resize(static_cast<std::size_t>(std::max<std::int64_t>(longest, 1)));
  std::string all(own.size() * sizes.size(), '\0');
  group
      .all_gather(
          {own.data(), static_cast<std::int64_t>(own.size()), DType::kU8},
          {all.data(), static_cast<std::int64_t>(all.size()), DType::kU8})
      ->wait();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    texts.push_back(
        all.substr(i * own.size(), static_cast<std::size_t>(sizes[i])));
  }
  return texts;
}

}  // namespace merak::runtime
