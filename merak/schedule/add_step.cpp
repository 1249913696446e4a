#include "merak/schedule/add_step.h"

#include <algorithm>
#include <vector>

namespace merak::schedule {

namespace {

std::vector<int> stages_by_last_backward(const ActionList& list) {
  std::vector<int> stages;
  for (const Action& action : list) {
    if (!makes_weight_gradients(action.type)) continue;
    std::erase(stages, action.stage);
    stages.push_back(action.stage);
  }
  return stages;
}

}  // namespace

void add_step(ActionLists& lists) {
  for (ActionList& list : lists) {
    const std::vector<int> stages = stages_by_last_backward(list);
    list.push_back(reduce_tied_gradients());
    for (const int stage : stages) list.push_back(reduce_gradients(stage));
    list.push_back(optimizer_step());
  }
}

}  // namespace merak::schedule
