// Shapes of operators whose meta kernels LibTorch keeps in Python. A rule says
// exactly what the CPU kernel returns, strides included: composite operators
// decide by them whether a reshape is a view. The executor's tests compare
// every value of a program with what was recorded.
#include <ATen/ExpandUtils.h>
#include <ATen/core/List.h>

#include <unordered_map>

#include "merak/kernels/operators.h"
#include "merak/trace/shapes.h"
#include "merak/trace/tensors.h"

namespace merak::trace {
namespace {

using Arguments = std::span<const c10::IValue>;
using Results = std::vector<c10::IValue>;
using Sizes = std::vector<std::int64_t>;

at::Tensor like(const at::Tensor& model, const Sizes& sizes,
                at::ScalarType type) {
  return make_proxy({to_dtype(type), sizes, {}}, model.device());
}

// What at::empty_like gives: the same order of dimensions, without gaps.
at::Tensor dense_like(const at::Tensor& model) {
  return make_proxy(model.sizes(),
                    at::infer_dense_strides(model.sizes(), model.strides()),
                    model.scalar_type(), model.device());
}

at::Tensor contiguous_like(const at::Tensor& model) {
  return like(model, model.sizes().vec(), model.scalar_type());
}

// Of a loss: (grad, self, target, ...).
void contiguous_like_second(Arguments in, Results& out) {
  out.emplace_back(contiguous_like(in[1].toTensor()));
}

std::int64_t wrap(std::int64_t dim, std::int64_t rank) {
  return dim < 0 ? dim + rank : dim;
}

void embedding(Arguments in, Results& out) {
  const at::Tensor& weight = in[0].toTensor();
  Sizes sizes = in[1].toTensor().sizes().vec();
  for (std::int64_t dim = 1; dim < weight.dim(); ++dim) {
    sizes.push_back(weight.size(dim));
  }
  out.emplace_back(like(weight, sizes, weight.scalar_type()));
}

void embedding_dense_backward(Arguments in, Results& out) {
  const at::Tensor& grad = in[0].toTensor();
  out.emplace_back(
      like(grad, {in[2].toInt(), grad.size(-1)}, grad.scalar_type()));
}

void index_select(Arguments in, Results& out) {
  const at::Tensor& self = in[0].toTensor();
  Sizes sizes = self.sizes().vec();
  if (!sizes.empty()) {
    sizes[static_cast<std::size_t>(wrap(in[1].toInt(), self.dim()))] =
        in[2].toTensor().numel();
  }
  out.emplace_back(like(self, sizes, self.scalar_type()));
}

// Statistics are kept in f32 for the narrow types.
at::ScalarType statistics_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

void native_layer_norm(Arguments in, Results& out) {
  const at::Tensor& x = in[0].toTensor();
  const auto normalized = in[1].toIntList().size();
  Sizes sizes = x.sizes().vec();
  for (std::size_t i = sizes.size() - normalized; i < sizes.size(); ++i) {
    sizes[i] = 1;
  }
  const at::ScalarType type = statistics_type(x.scalar_type());
  out.emplace_back(contiguous_like(x));
  out.emplace_back(like(x, sizes, type));
  out.emplace_back(like(x, sizes, type));
}

void native_layer_norm_backward(Arguments in, Results& out) {
  const at::Tensor& x = in[1].toTensor();
  const auto mask = in[7].toBoolList();
  const auto parameter = [&](std::size_t which) {
    return in[which].isTensor() ? contiguous_like(in[which].toTensor())
                                : at::Tensor();
  };
  out.emplace_back(mask[0] ? contiguous_like(x) : at::Tensor());
  out.emplace_back(mask[1] ? parameter(5) : at::Tensor());
  out.emplace_back(mask[2] ? parameter(6) : at::Tensor());
}

void where(Arguments in, Results& out) {
  const at::Tensor& a = in[1].toTensor();
  const at::Tensor& b = in[2].toTensor();
  const Sizes sizes = at::infer_size(in[0].toTensor().sizes(),
                                     at::infer_size(a.sizes(), b.sizes()));
  out.emplace_back(
      like(a, sizes, at::promote_types(a.scalar_type(), b.scalar_type())));
}

void broadcast_to_first_two(Arguments in, Results& out) {
  const at::Tensor& self = in[0].toTensor();
  out.emplace_back(like(self,
                        at::infer_size(self.sizes(), in[1].toTensor().sizes()),
                        self.scalar_type()));
}

void same_as_first(Arguments in, Results& out) {
  out.emplace_back(dense_like(in[0].toTensor()));
}

// Sizes [batch, heads, time, ...] with memory in the order batch, time, heads.
at::Tensor heads_inside(const at::Tensor& model, std::int64_t time,
                        const Sizes& tail, at::ScalarType type) {
  const std::int64_t heads = model.size(1);
  const std::int64_t size = tail.empty() ? 1 : tail.front();
  Sizes sizes = {model.size(0), heads, time};
  Sizes strides = {time * heads * size, size, heads * size};
  for (std::int64_t item : tail) {
    sizes.push_back(item);
    strides.push_back(1);
  }
  return make_proxy(sizes, strides, type, model.device());
}

void flash_attention(Arguments in, Results& out) {
  const at::Tensor& q = in[0].toTensor();
  out.emplace_back(dense_like(q));
  out.emplace_back(
      heads_inside(q, q.size(2), {}, statistics_type(q.scalar_type())));
}

void flash_attention_backward(Arguments in, Results& out) {
  for (std::size_t i = 1; i <= 3; ++i) {
    const at::Tensor& x = in[i].toTensor();
    out.emplace_back(heads_inside(x, x.size(2), {x.size(3)}, x.scalar_type()));
  }
}

void native_dropout(Arguments in, Results& out) {
  const at::Tensor& x = in[0].toTensor();
  out.emplace_back(dense_like(x));
  out.emplace_back(like(x, x.sizes().vec(), at::kBool));
}

void convolution(Arguments in, Results& out) {
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor& weight = in[1].toTensor();
  const auto stride = in[3].toIntList(), padding = in[4].toIntList(),
             dilation = in[5].toIntList(), extra = in[7].toIntList();
  const bool transposed = in[6].toBool();
  const auto at = [](const c10::List<std::int64_t>& list, std::size_t i) {
    return list.size() == 1 ? list.get(0) : list.get(i);
  };
  Sizes sizes = {x.size(0),
                 transposed ? weight.size(1) * in[8].toInt() : weight.size(0)};
  for (std::int64_t dim = 2; dim < x.dim(); ++dim) {
    const auto i = static_cast<std::size_t>(dim - 2);
    const std::int64_t reach = at(dilation, i) * (weight.size(dim) - 1);
    sizes.push_back(transposed
                        ? (x.size(dim) - 1) * at(stride, i) -
                              2 * at(padding, i) + reach + at(extra, i) + 1
                        : (x.size(dim) + 2 * at(padding, i) - reach - 1) /
                                  at(stride, i) +
                              1);
  }
  out.emplace_back(like(x, sizes, x.scalar_type()));
}

void convolution_backward(Arguments in, Results& out) {
  const auto mask = in[10].toBoolList();
  const at::Tensor& weight = in[2].toTensor();
  out.emplace_back(mask[0] ? contiguous_like(in[1].toTensor()) : at::Tensor());
  out.emplace_back(mask[1] ? contiguous_like(weight) : at::Tensor());
  out.emplace_back(
      mask[2] ? like(weight, {in[0].toTensor().size(1)}, weight.scalar_type())
              : at::Tensor());
}

void cross_entropy_sum(Arguments in, Results& out) {
  const at::Tensor& logits = in[0].toTensor();
  const at::ScalarType type = statistics_type(logits.scalar_type());
  out.emplace_back(like(logits, {}, type));
  out.emplace_back(like(logits, {logits.size(0)}, type));
}

void cross_entropy_sum_backward(Arguments in, Results& out) {
  out.emplace_back(contiguous_like(in[1].toTensor()));
}

void count_valid(Arguments in, Results& out) {
  out.emplace_back(like(in[0].toTensor(), {}, at::kLong));
}

void linear_cross_entropy(Arguments in, Results& out) {
  const at::Tensor& hidden = in[0].toTensor();
  const std::int64_t rows = hidden.size(0);
  const std::int64_t vocabulary = in[1].toTensor().size(0);
  const std::int64_t blocks =
      (vocabulary + kernels::kVocabularyBlock - 1) / kernels::kVocabularyBlock;
  const at::ScalarType type = statistics_type(hidden.scalar_type());
  out.emplace_back(like(hidden, {}, type));
  out.emplace_back(like(hidden, {rows * vocabulary}, hidden.scalar_type()));
  out.emplace_back(like(hidden, {2, blocks, rows}, type));
}

void linear_cross_entropy_backward(Arguments in, Results& out) {
  out.emplace_back(contiguous_like(in[1].toTensor()));
  out.emplace_back(contiguous_like(in[2].toTensor()));
}

const std::unordered_map<std::string, ShapeRule>& rules() {
  static const auto* table = new std::unordered_map<std::string, ShapeRule>{
      {"aten.embedding", embedding},
      {"aten.embedding_dense_backward", embedding_dense_backward},
      {"aten.index_select", index_select},
      {"aten.native_layer_norm", native_layer_norm},
      {"aten.native_layer_norm_backward", native_layer_norm_backward},
      {"aten.where.self", where},
      {"aten.masked_fill.Scalar", broadcast_to_first_two},
      {"aten.masked_fill.Tensor", broadcast_to_first_two},
      {"aten._scaled_dot_product_flash_attention_for_cpu", flash_attention},
      {"aten._scaled_dot_product_flash_attention_for_cpu_backward",
       flash_attention_backward},
      {"aten.mse_loss_backward", contiguous_like_second},
      {"aten._safe_softmax", same_as_first},
      {"aten.native_dropout", native_dropout},
      {"aten.native_dropout_backward", same_as_first},
      {"aten.convolution", convolution},
      {"aten.convolution_backward", convolution_backward},
      {"merak.dropout", same_as_first},
      {"merak.dropout_backward", same_as_first},
      {"merak.cross_entropy_sum", cross_entropy_sum},
      {"merak.cross_entropy_sum_backward", cross_entropy_sum_backward},
      {"merak.count_valid", count_valid},
      {"merak.linear_cross_entropy", linear_cross_entropy},
      {"merak.linear_cross_entropy_backward", linear_cross_entropy_backward},
  };
  return *table;
}

}  // namespace

const ShapeRule* find_shape_rule(const std::string& op) {
  const auto found = rules().find(op);
  return found == rules().end() ? nullptr : &found->second;
}

}  // namespace merak::trace
