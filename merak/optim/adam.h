// Adam (Kingma and Ba, arXiv 1412.6980) and AdamW (Loshchilov and Hutter, arXiv
// 1711.05101), as PyTorch computes them: Adam adds weight_decay * parameter to
// the gradient, AdamW shrinks the parameter by lr * weight_decay.
#pragma once

#include "merak/optim/optimizer.h"

namespace merak::optim {

std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options,
                                     std::vector<Slot> slots);
std::unique_ptr<Optimizer> make_adamw(const OptimizerOptions& options,
                                      std::vector<Slot> slots);

}  // namespace merak::optim
