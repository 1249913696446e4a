// Which stages pass values to which, and which rank has which stage.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "merak/schedule/action.h"

namespace merak::schedule {

// Values of `source` that `destination` reads, for every micro-batch. They go
// straight there, however many stages lie between (a skip connection).
// source < destination.
struct Edge {
  int source = 0;
  int destination = 0;
  bool differentiable = true;  // gradients come back

  auto operator<=>(const Edge&) const = default;
};

// 0 -> 1 -> ... -> stages - 1.
std::vector<Edge> chain(int stages);

// The rank of each stage 0 .. stages - 1: where its actions are. Usage error,
// naming rank and action, if a stage is out of range or on two ranks; naming
// the stage if it is on none.
std::vector<int> rank_of_stages(const ActionLists& lists, int stages);

// Edges are sound: in range, forwards, no pair twice. An internal error
// otherwise: they come from the partition, not from the user.
void check_edges(std::span<const Edge> edges, int stages);

}  // namespace merak::schedule
