// The layout of a configuration against one process: the same steps in both,
// and every number compared. Ranks are threads (in_process.h).
//
// Pipelines keep the order of all sums, so every bit must be the same. Data
// ranks add in another order: those layouts are compared in fp64, where that
// changes the sixteenth digit and a fault changes the first ones.
#pragma once

#include <cstdint>
#include <string>

#include "merak/config/config.h"
#include "merak/config/layout.h"

namespace merak::run {

struct Verification {
  bool exact = false;     // bits were compared
  std::string precision;  // "fp32"
  double tolerance = 0;   // relative, where bits were not
  std::int64_t steps = 0;
  std::int64_t compared = 0;     // losses, norms and tensors
  double largest = 0;            // relative difference met, within tolerance
  std::string first_difference;  // empty: none. What, where, both values
};

Verification verify(const config::Config& config, const config::Layout& layout,
                    std::int64_t steps);

}  // namespace merak::run
