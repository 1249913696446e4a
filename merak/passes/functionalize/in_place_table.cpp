#include "merak/passes/functionalize/in_place_table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "merak/passes/functionalize/op_name.h"

namespace merak::passes {
namespace {

struct Exception {
  std::string_view op;
  std::string_view pure;  // empty: there is none
};

// All names without "aten.".
constexpr Exception kExceptions[] = {
    {"pow_.Scalar", "pow.Tensor_Scalar"},
    {"pow_.Tensor", "pow.Tensor_Tensor"},
    {"float_power_.Scalar", "float_power.Tensor_Scalar"},
    {"float_power_.Tensor", "float_power.Tensor_Tensor"},
    {"floor_divide_.Tensor", "floor_divide"},
    {"ldexp_", "ldexp.Tensor"},
    {"bernoulli_.float", "bernoulli.p"},
    {"normal_", "normal_functional"},
    {"polygamma_", ""},
    {"fill_diagonal_", ""},
    {"as_strided_", ""},
    {"rrelu_with_noise_", ""},
    // The overload `out` goes with one that has a name.
    {"add.out", "add.Tensor"},
    {"sub.out", "sub.Tensor"},
    {"subtract.out", "subtract.Tensor"},
    {"mul.out", "mul.Tensor"},
    {"multiply.out", "multiply.Tensor"},
    {"div.out", "div.Tensor"},
    {"divide.out", "divide.Tensor"},
    {"div.out_mode", "div.Tensor_mode"},
    {"divide.out_mode", "divide.Tensor_mode"},
    {"true_divide.out", "true_divide.Tensor"},
    {"copysign.out", "copysign.Tensor"},
    {"ldexp.out", "ldexp.Tensor"},
    {"all.out", "all.dim"},
    {"all.all_out", "all"},
    {"any.out", "any.dim"},
    {"any.all_out", "any"},
    {"max.out", "max.other"},
    {"max.unary_out", "max"},
    {"max.dim_max", "max.dim"},
    {"min.out", "min.other"},
    {"min.unary_out", "min"},
    {"min.dim_min", "min.dim"},
    {"mean.out", "mean.dim"},
    {"mean.dtype_out", "mean"},
    {"std.out", "std.dim"},
    {"var.out", "var.dim"},
    {"sum.IntList_out", "sum.dim_IntList"},
    {"prod.int_out", "prod.dim_int"},
    {"norm.out", "norm.ScalarOpt_dim"},
    {"norm.dtype_out", "norm.ScalarOpt_dim_dtype"},
    {"bernoulli.float_out", "bernoulli.p"},
    {"sort.values", "sort"},
    {"sort.values_stable", "sort.stable"},
    {"topk.values", "topk"},
    {"kthvalue.values", "kthvalue"},
    {"mode.values", "mode"},
    {"median.dim_values", "median.dim"},
    {"nanmedian.dim_values", "nanmedian.dim"},
    {"copy.out", ""},
    {"_to_copy.out", ""},
};

// These change what a tensor looks at, and no element.
constexpr Exception kViews[] = {
    {"t_", "t"},
    {"transpose_", "transpose.int"},
    {"swapaxes_", "swapaxes"},
    {"swapdims_", "swapdims"},
    {"squeeze_", "squeeze"},
    {"squeeze_.dim", "squeeze.dim"},
    {"squeeze_.dims", "squeeze.dims"},
    {"unsqueeze_", "unsqueeze"},
    {"detach_", "detach"},
};

// Families without an out-of-place form: lists of tensors, optimizers, memory
// that changes its size, tensors made from nothing.
constexpr std::array<std::string_view, 29> kRefusedStarts = {
    "_foreach_",
    "_fused_",
    "_amp_",
    "_sobol_",
    "_no_grad_",
    "set_",
    "resize_",
    "sparse_",
    "new_",
    "empty_",
    "arange.",
    "empty.",
    "eye.",
    "full.",
    "linspace.",
    "logspace.",
    "normal.",
    "ones.",
    "rand.",
    "randint.",
    "randn.",
    "randperm.",
    "range.",
    "zeros.",
    "tril_indices.",
    "triu_indices.",
    "rrelu_with_noise.",
    "native_batch_norm.",
    "_native_batch_norm_legit."};
constexpr std::array<std::string_view, 2> kRefusedEnds = {"_like", "_window"};

template <std::size_t N>
const Exception* find(const Exception (&table)[N], std::string_view name) {
  const auto found =
      std::find_if(std::begin(table), std::end(table),
                   [&](const Exception& row) { return row.op == name; });
  return found == std::end(table) ? nullptr : found;
}

bool is_refused(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.'));
  return std::any_of(
             kRefusedStarts.begin(), kRefusedStarts.end(),
             [&](std::string_view start) { return name.starts_with(start); }) ||
         std::any_of(kRefusedEnds.begin(), kRefusedEnds.end(),
                     [&](std::string_view end) { return base.ends_with(end); });
}

std::string join_name(std::string_view base, std::string_view overload) {
  std::string name = "aten.";
  name += base;
  if (!overload.empty()) name.append(".").append(overload);
  return name;
}

std::optional<PureForm> by_rule(const OpName& name) {
  auto [base, overload] = name;
  if (base.starts_with("__i") && base.ends_with("__")) {
    return PureForm{
        .op = join_name("__" + std::string(base.substr(3)), overload)};
  }
  if (base.ends_with('_') && !base.ends_with("__")) {
    base.remove_suffix(1);
    return PureForm{.op = join_name(base, overload)};
  }
  if (overload == "out" || overload == "grad_input") {
    return PureForm{.op = join_name(base, {})};
  }
  if (!overload.ends_with("_out")) return std::nullopt;
  overload.remove_suffix(4);
  return PureForm{.op = join_name(base, overload)};
}

}  // namespace

std::optional<PureForm> pure_form(std::string_view op) {
  if (!op.starts_with("aten.")) return std::nullopt;
  const std::string_view name = op.substr(5);
  if (name == "copy_" || name == "fill_.Tensor") {
    return PureForm{PureKind::kBroadcast};
  }
  if (name == "fill_.Scalar") return PureForm{PureKind::kFull};
  if (name == "zero_") return PureForm{PureKind::kZeros};
  if (name == "requires_grad_") return PureForm{PureKind::kNothing};
  if (const Exception* view = find(kViews, name)) {
    return PureForm{PureKind::kView, join_name(view->pure, {})};
  }
  if (const Exception* row = find(kExceptions, name)) {
    if (row->pure.empty()) return std::nullopt;
    return PureForm{.op = join_name(row->pure, {})};
  }
  if (is_refused(name)) return std::nullopt;
  return by_rule(split_name(op));
}

}  // namespace merak::passes
