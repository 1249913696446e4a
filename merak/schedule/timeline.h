// When each action would run if costs were whole units and messages free: for
// pictures, for makespan formulas, and for the order of messages
// (add_communication.h). Costs in seconds and links are the simulator's
// business.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "merak/schedule/action.h"
#include "merak/schedule/edge.h"

namespace merak::schedule {

// Units of time. What is not named takes none.
struct UnitCosts {
  int forward = 1;
  int recompute = 1;
  int backward = 2;
  int backward_input = 1;
  int backward_weight = 1;
};

struct Span {
  Action action;
  int start = 0;
  int finish = 0;
};

struct Timeline {
  std::vector<std::vector<Span>> ranks;  // each list, action by action
  int makespan = 0;
};

// Every rank runs its list in order, each action as soon as the values it reads
// are made, wherever that is. Messages in the lists are passed over. Usage
// error, naming rank and action, if the lists wait for each other in a circle
// or for what is in no list.
Timeline lay_out(const ActionLists& lists, std::span<const Edge> edges,
                 const UnitCosts& costs = {});

// A line a rank, a character a unit: the last digit of a forward's micro-batch,
// a lower-case letter for a backward (a, b, ... for 0, 1, ...), upper-case for
// a recompute, = for a backward-weight, a dot for idle.
//
//   rank 0  01..aabb
//   rank 1  .0aa1bb.
std::string draw(const Timeline& timeline);

}  // namespace merak::schedule
