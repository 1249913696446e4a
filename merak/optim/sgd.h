// Stochastic gradient descent without momentum, as PyTorch computes it:
// weight_decay * parameter is added to the gradient.
#pragma once

#include "merak/optim/optimizer.h"

namespace merak::optim {

std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options,
                                    std::vector<Slot> slots);

}  // namespace merak::optim
