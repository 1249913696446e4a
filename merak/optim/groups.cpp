#include "merak/optim/groups.h"

#include <map>
#include <utility>

namespace merak::optim {

std::vector<Group> make_groups(const std::vector<Slot>& slots,
                               double weight_decay) {
  std::map<std::pair<at::ScalarType, bool>, Group> groups;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool decays = slots[i].parameter.dim() >= 2;
    Group& group = groups[{slots[i].parameter.scalar_type(), decays}];
    group.weight_decay = decays ? weight_decay : 0.0;
    group.slots.push_back(i);
    group.parameters.push_back(slots[i].parameter);
    group.gradients.push_back(slots[i].gradient);
  }
  std::vector<Group> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

}  // namespace merak::optim
