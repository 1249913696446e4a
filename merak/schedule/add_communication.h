// The one step that adds messages to any schedule: lists of compute in, lists
// of compute and messages out.
//
//   edges 0 -> 1
//   rank 0: 0F0 0B0    rank 0: 0F0 0SEND_F0>1 0RECV_B0<1 0B0
//   rank 1: 1F0 1B0    rank 1: 1RECV_F0<0 1F0 1B0 1SEND_B0>0
//
// Each edge between two ranks has a message forwards for every micro-batch and,
// if it is differentiable, one back. Within a rank there is no message.
//
// Why it cannot deadlock, even if every send waited until its receive has run
// (a rendezvous): all actions are put in one order by when they would run at
// unit costs (timeline.h). A message takes one place in that order, right when
// its value is made, and its send and its receive both stand there in their
// ranks' lists. So every list is a part of one common order, and the first
// action in it that has not run is next on each rank it concerns. For the same
// reason both ends of a channel see the same order of messages.
#pragma once

#include <span>

#include "merak/schedule/action.h"
#include "merak/schedule/edge.h"

namespace merak::schedule {

// `compute`: of all ranks, without messages; each stage on one rank. `edges`
// are between its stages. Usage error, naming rank and action, if the lists
// wait for each other in a circle or a stage is on two ranks.
ActionLists add_communication(const ActionLists& compute,
                              std::span<const Edge> edges, int stages);

}  // namespace merak::schedule
