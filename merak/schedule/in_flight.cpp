#include "merak/schedule/in_flight.h"

#include <algorithm>

namespace merak::schedule {

int in_flight_change(ActionType type) {
  if (type == ActionType::kForward) return 1;
  return makes_weight_gradients(type) ? -1 : 0;
}

int max_in_flight(const ActionList& list) {
  int now = 0;
  int most = 0;
  for (const Action& action : list) {
    now += in_flight_change(action.type);
    most = std::max(most, now);
  }
  return most;
}

std::vector<int> max_in_flight(const ActionLists& lists) {
  std::vector<int> most;
  for (const ActionList& list : lists) most.push_back(max_in_flight(list));
  return most;
}

}  // namespace merak::schedule
