#include "merak/optim/sgd.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_fused_sgd.h>

#include "merak/base/error.h"
#include "merak/optim/groups.h"

namespace merak::optim {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const std::vector<Slot>& slots)
      : groups_(make_groups(slots, options.weight_decay)) {}

  void step(double lr, std::int64_t) override {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    for (const Group& group : groups_) {
      at::_fused_sgd_(group.parameters, group.gradients,
                      /*momentum_buffer_list=*/{}, group.weight_decay,
                      /*momentum=*/0.0, lr, /*dampening=*/0.0,
                      /*nesterov=*/false, /*maximize=*/false,
                      /*is_first_step=*/true);
    }
  }

  std::vector<std::string> state_names() const override { return {}; }

  at::Tensor state(const std::string&,
                   const std::string& state_name) const override {
    MERAK_CHECK(false, "SGD has no state '{}'", state_name);
    return {};
  }

 private:
  std::vector<Group> groups_;
};

}  // namespace

// By value as the table has it: others keep the slots.
std::unique_ptr<Optimizer> make_sgd(
    const OptimizerOptions& options,
    std::vector<Slot> slots) {  // NOLINT(performance-unnecessary-value-param)
  return std::make_unique<Sgd>(options, slots);
}

}  // namespace merak::optim
