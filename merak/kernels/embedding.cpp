#include "merak/kernels/embedding.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include "merak/base/error.h"

namespace merak::kernels {

void embedding_backward_accumulate(const at::Tensor& grad,
                                   const at::Tensor& indices,
                                   at::Tensor& weight_grad,
                                   std::int64_t padding_idx) {
  const std::int64_t width = weight_grad.size(1);
  const at::Tensor rows = grad.reshape({-1, width}).contiguous();
  const at::Tensor flat = indices.to(at::kLong).contiguous();
  MERAK_CHECK(weight_grad.is_contiguous() && rows.size(0) == flat.numel(),
              "gradient rows do not fit the indices");
  const auto* row_of = flat.const_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES(
      weight_grad.scalar_type(), "merak::embedding_backward_accumulate", [&] {
        const auto* from = rows.const_data_ptr<scalar_t>();
        auto* to = weight_grad.mutable_data_ptr<scalar_t>();
        // Threads share out the columns, so every row is added to in order.
        at::parallel_for(0, width, 64,
                         [&](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t i = 0; i < flat.numel(); ++i) {
                             if (row_of[i] == padding_idx) continue;
                             const scalar_t* source = from + i * width;
                             scalar_t* target = to + row_of[i] * width;
                             for (std::int64_t c = begin; c < end; ++c)
                               target[c] += source[c];
                           }
                         });
      });
}

}  // namespace merak::kernels
