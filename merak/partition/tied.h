// Tied parameters: the same parameter read in several stages. Found by
// identity, which is the global name; equal shapes mean nothing.
#pragma once

#include <string>
#include <vector>

#include "merak/partition/split_stages.h"

namespace merak::partition {

struct TiedParameter {
  std::string name;
  std::vector<int> stages;  // increasing, at least two
};

// In the order in which the first stage has them. Frozen ones are included:
// they need no gradient, yet must start equal.
std::vector<TiedParameter> tied_parameters(const StagedModel& staged);

}  // namespace merak::partition
