#include "merak/optim/adam.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include "merak/base/error.h"
#include "merak/optim/groups.h"

namespace merak::optim {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, std::vector<Slot> slots, bool decoupled)
      : options_(options),
        slots_(std::move(slots)),
        decoupled_(decoupled),
        groups_(make_groups(slots_, options.weight_decay)) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      index_[slots_[i].name] = i;
      averages_.push_back(at::zeros_like(slots_[i].parameter));
      squares_.push_back(at::zeros_like(slots_[i].parameter));
    }
  }

  void step(double lr, std::int64_t t) override {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    for (const Group& group : groups_) {
      std::vector<at::Tensor> averages, squares, steps;
      for (std::size_t i : group.slots) {
        averages.push_back(averages_[i]);
        squares.push_back(squares_[i]);
        steps.push_back(at::full({}, static_cast<double>(t), at::kFloat));
      }
      const auto update = decoupled_ ? &fused_adamw : &fused_adam;
      update(group, averages, squares, steps, lr, options_);
    }
  }

  std::vector<std::string> state_names() const override {
    return {"exp_avg", "exp_avg_sq"};
  }

  at::Tensor state(const std::string& parameter,
                   const std::string& state_name) const override {
    const std::size_t i = index_.at(parameter);
    MERAK_CHECK(state_name == "exp_avg" || state_name == "exp_avg_sq",
                "Adam has no state '{}'", state_name);
    return state_name == "exp_avg" ? averages_[i] : squares_[i];
  }

 private:
  using Tensors = std::vector<at::Tensor>;

  static void fused_adamw(const Group& group, const Tensors& averages,
                          const Tensors& squares, const Tensors& steps,
                          double lr, const OptimizerOptions& o) {
    at::_fused_adamw_(group.parameters, group.gradients, averages, squares,
                      /*max_exp_avg_sqs=*/{}, steps, lr, o.beta1, o.beta2,
                      group.weight_decay, o.eps, /*amsgrad=*/false,
                      /*maximize=*/false);
  }

  static void fused_adam(const Group& group, const Tensors& averages,
                         const Tensors& squares, const Tensors& steps,
                         double lr, const OptimizerOptions& o) {
    at::_fused_adam_(group.parameters, group.gradients, averages, squares,
                     /*max_exp_avg_sqs=*/{}, steps, lr, o.beta1, o.beta2,
                     group.weight_decay, o.eps, /*amsgrad=*/false,
                     /*maximize=*/false);
  }

  OptimizerOptions options_;
  std::vector<Slot> slots_;
  bool decoupled_;
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> index_;
  Tensors averages_, squares_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options,
                                     std::vector<Slot> slots) {
  return std::make_unique<Adam>(options, std::move(slots), false);
}

std::unique_ptr<Optimizer> make_adamw(const OptimizerOptions& options,
                                      std::vector<Slot> slots) {
  return std::make_unique<Adam>(options, std::move(slots), true);
}

}  // namespace merak::optim
