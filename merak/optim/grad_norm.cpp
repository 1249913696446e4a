#include "merak/optim/grad_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "merak/base/error.h"

namespace merak::optim {
namespace {

constexpr std::int64_t kChunk = 1 << 15;  // elements summed by one thread
constexpr std::size_t kLanes = 16;        // independent sums: vector registers

template <typename T>
double sum_chunk(const T* values, std::int64_t count) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= count;
       i += static_cast<std::int64_t>(kLanes)) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value =
          static_cast<double>(values[i + static_cast<std::int64_t>(lane)]);
      lanes[lane] += value * value;
    }
  }
  for (; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    lanes[0] += value * value;
  }
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

double sum_of_squares(const at::Tensor& gradient) {
  MERAK_CHECK(gradient.is_contiguous(), "a gradient is contiguous");
  const std::int64_t count = gradient.numel();
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<double> sums(static_cast<std::size_t>(chunks));
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, gradient.scalar_type(), "sum_of_squares", [&] {
        const auto* values = gradient.const_data_ptr<scalar_t>();
        at::parallel_for(
            0, chunks, 1, [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t chunk = begin; chunk < end; ++chunk) {
                const std::int64_t first = chunk * kChunk;
                sums[static_cast<std::size_t>(chunk)] =
                    sum_chunk(values + first, std::min(kChunk, count - first));
              }
            });
      });
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

double global_norm(std::span<const double> sums_of_squares) {
  double total = 0;
  for (double sum : sums_of_squares) total += sum;
  return std::sqrt(total);
}

double clip_coefficient(double norm, double max_norm) {
  if (max_norm <= 0) return 1.0;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace merak::optim
