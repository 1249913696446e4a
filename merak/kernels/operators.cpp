#include "merak/kernels/operators.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <mutex>

#include "merak/kernels/cross_entropy.h"
#include "merak/kernels/dropout.h"
#include "merak/kernels/embedding.h"

namespace merak::kernels {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// An operator of ours by name, called through the dispatcher.
template <typename Signature>
auto operator_named(const char* name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<Signature>();
}

class Dropout : public Function<Dropout> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x,
                        const Tensor& key, double p, std::int64_t site) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto kOp = operator_named<decltype(dropout)>("merak::dropout");
    context->save_for_backward({key});
    context->saved_data["p"] = p;
    context->saved_data["site"] = site;
    return kOp.call(x, key, p, site);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    static const auto kOp =
        operator_named<decltype(dropout_backward)>("merak::dropout_backward");
    return {kOp.call(grads[0], context->get_saved_variables()[0],
                     context->saved_data["p"].toDouble(),
                     context->saved_data["site"].toInt()),
            {},
            {},
            {}};
  }
};

class CrossEntropySum : public Function<CrossEntropySum> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& logits,
                               const Tensor& labels,
                               std::int64_t ignore_index) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto kOp =
        operator_named<decltype(cross_entropy_sum)>("merak::cross_entropy_sum");
    const auto [sum, lse] = kOp.call(logits, labels, ignore_index);
    context->save_for_backward({logits, labels, lse});
    context->saved_data["ignore_index"] = ignore_index;
    context->mark_non_differentiable({lse});
    return {sum, lse};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    static const auto kOp =
        operator_named<decltype(cross_entropy_sum_backward)>(
            "merak::cross_entropy_sum_backward");
    const variable_list saved = context->get_saved_variables();
    return {kOp.call(grads[0], saved[0], saved[1], saved[2],
                     context->saved_data["ignore_index"].toInt()),
            {},
            {}};
  }
};

class LinearCrossEntropy : public Function<LinearCrossEntropy> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& hidden,
                               const Tensor& weight, const Tensor& labels,
                               std::int64_t ignore_index) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto kOp = operator_named<decltype(linear_cross_entropy)>(
        "merak::linear_cross_entropy");
    const auto [sum, exps, statistics] =
        kOp.call(hidden, weight, labels, ignore_index);
    context->save_for_backward({hidden, weight, labels, exps, statistics});
    context->saved_data["ignore_index"] = ignore_index;
    context->mark_non_differentiable({exps, statistics});
    return {sum, exps, statistics};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    static const auto kOp =
        operator_named<decltype(linear_cross_entropy_backward)>(
            "merak::linear_cross_entropy_backward");
    const variable_list saved = context->get_saved_variables();
    const auto [grad_hidden, grad_weight] =
        kOp.call(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4],
                 context->saved_data["ignore_index"].toInt());
    return {grad_hidden, grad_weight, {}, {}};
  }
};

Tensor dropout_autograd(const Tensor& x, const Tensor& key, double p,
                        std::int64_t site) {
  return Dropout::apply(x, key, p, site);
}

std::tuple<Tensor, Tensor> cross_entropy_sum_autograd(
    const Tensor& logits, const Tensor& labels, std::int64_t ignore_index) {
  const variable_list results =
      CrossEntropySum::apply(logits, labels, ignore_index);
  return {results[0], results[1]};
}

std::tuple<Tensor, Tensor, Tensor> linear_cross_entropy_autograd(
    const Tensor& hidden, const Tensor& weight, const Tensor& labels,
    std::int64_t ignore_index) {
  const variable_list results =
      LinearCrossEntropy::apply(hidden, weight, labels, ignore_index);
  return {results[0], results[1], results[2]};
}

void define(torch::Library& library) {
  library.def(
      "dropout(Tensor x, Tensor random_key, float p, int site) -> Tensor");
  library.def(
      "dropout_backward(Tensor grad, Tensor random_key, float p, int site) -> "
      "Tensor");
  library.def(
      "cross_entropy_sum(Tensor logits, Tensor labels, int ignore_index) -> "
      "(Tensor, Tensor)");
  library.def(
      "cross_entropy_sum_backward(Tensor grad, Tensor logits, Tensor labels, "
      "Tensor lse, int ignore_index) -> Tensor");
  library.def("count_valid(Tensor labels, int ignore_index) -> Tensor");
  library.def(
      "linear_cross_entropy(Tensor hidden, Tensor weight, Tensor labels, int "
      "ignore_index) -> (Tensor, Tensor, Tensor)");
  library.def(
      "linear_cross_entropy_backward(Tensor grad, Tensor hidden, Tensor "
      "weight, Tensor labels, Tensor exps, Tensor statistics, int "
      "ignore_index) -> (Tensor, Tensor)");
  library.def(
      "linear_cross_entropy_backward_accumulate(Tensor grad, Tensor hidden, "
      "Tensor weight, Tensor labels, Tensor exps, Tensor statistics, int "
      "ignore_index, Tensor(a!) grad_weight, bool overwrite) -> Tensor");
  library.def(
      "embedding_backward_accumulate(Tensor grad, Tensor indices, Tensor(a!) "
      "weight_grad, int padding_idx) -> ()");
}

void implement_cpu(torch::Library& library) {
  library.impl("dropout", TORCH_FN(dropout));
  library.impl("dropout_backward", TORCH_FN(dropout_backward));
  library.impl("cross_entropy_sum", TORCH_FN(cross_entropy_sum));
  library.impl("cross_entropy_sum_backward",
               TORCH_FN(cross_entropy_sum_backward));
  library.impl("count_valid", TORCH_FN(count_valid));
  library.impl("linear_cross_entropy", TORCH_FN(linear_cross_entropy));
  library.impl("linear_cross_entropy_backward",
               TORCH_FN(linear_cross_entropy_backward));
  library.impl("linear_cross_entropy_backward_accumulate",
               TORCH_FN(linear_cross_entropy_backward_accumulate));
  library.impl("embedding_backward_accumulate",
               TORCH_FN(embedding_backward_accumulate));
}

void implement_autograd(torch::Library& library) {
  library.impl("dropout", TORCH_FN(dropout_autograd));
  library.impl("cross_entropy_sum", TORCH_FN(cross_entropy_sum_autograd));
  library.impl("linear_cross_entropy", TORCH_FN(linear_cross_entropy_autograd));
}

}  // namespace

void register_operators() {
  static std::once_flag once;
  std::call_once(once, [] {
    using torch::Library;
    // Kept for as long as the process: LibTorch unregisters with the library.
    static auto* libraries = new std::vector<Library>();
    libraries->emplace_back(Library::DEF, "merak", std::nullopt, __FILE__,
                            __LINE__);
    define(libraries->back());
    libraries->emplace_back(Library::IMPL, "merak", c10::DispatchKey::CPU,
                            __FILE__, __LINE__);
    implement_cpu(libraries->back());
    libraries->emplace_back(Library::IMPL, "merak", c10::DispatchKey::Autograd,
                            __FILE__, __LINE__);
    implement_autograd(libraries->back());
  });
}

}  // namespace merak::kernels
