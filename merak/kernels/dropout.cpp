#include "merak/kernels/dropout.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/TypeCast.h>

#include <algorithm>
#include <cmath>

#include "merak/base/error.h"
#include "merak/kernels/philox.h"

namespace merak::kernels {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements worth a thread

struct Stream {
  PhiloxKey key;
  std::uint32_t step;
  std::uint32_t site;
  std::uint64_t first_element;
  std::uint32_t threshold;  // kept below it
  double scale;
};

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

Stream make_stream(const at::Tensor& x, const at::Tensor& random_key, double p,
                   std::int64_t site) {
  MERAK_CHECK(random_key.numel() == 4 && random_key.is_cpu() &&
                  random_key.scalar_type() == at::kLong,
              "a random key is i64[4] on the CPU");
  const auto* key = random_key.const_data_ptr<std::int64_t>();
  const std::int64_t samples = std::max<std::int64_t>(key[3], 1);
  MERAK_CHECK(x.numel() % samples == 0, "{} elements for {} samples", x.numel(),
              samples);
  const auto seed = static_cast<std::uint64_t>(key[0]);
  return {{low(seed), high(seed)},
          low(static_cast<std::uint64_t>(key[1])),
          low(static_cast<std::uint64_t>(site)),
          static_cast<std::uint64_t>(key[2] * (x.numel() / samples)),
          static_cast<std::uint32_t>(
              std::min(std::round((1.0 - p) * 4294967296.0), 4294967295.0)),
          1.0 / (1.0 - p)};
}

// Elements [begin, end) of the tensor. One generator call serves four
// neighbouring elements of the global numbering.
template <typename T>
void apply(const Stream& stream, const T* in, T* out, std::int64_t begin,
           std::int64_t end) {
  const T scale = c10::convert<T>(stream.scale);
  std::int64_t i = begin;
  while (i < end) {
    const std::uint64_t element =
        stream.first_element + static_cast<std::uint64_t>(i);
    const std::uint64_t block = element / 4;
    const PhiloxCounter words =
        philox({low(block), high(block), stream.site, stream.step}, stream.key);
    for (std::size_t lane = element % 4; lane < 4 && i < end; ++lane, ++i) {
      out[i] = words[lane] < stream.threshold ? in[i] * scale : T(0);
    }
  }
}

}  // namespace

at::Tensor dropout(const at::Tensor& x, const at::Tensor& random_key, double p,
                   std::int64_t site) {
  const Stream stream = make_stream(x, random_key, p, site);
  const at::Tensor in = x.contiguous();
  at::Tensor out = at::empty_like(in, at::MemoryFormat::Contiguous);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, in.scalar_type(), "merak::dropout", [&] {
        const auto* from = in.const_data_ptr<scalar_t>();
        auto* to = out.mutable_data_ptr<scalar_t>();
        at::parallel_for(0, in.numel(), kGrain,
                         [&](std::int64_t begin, std::int64_t end) {
                           apply(stream, from, to, begin, end);
                         });
      });
  return out;
}

at::Tensor dropout_backward(const at::Tensor& grad,
                            const at::Tensor& random_key, double p,
                            std::int64_t site) {
  return dropout(grad, random_key, p, site);
}

}  // namespace merak::kernels
