// Which lane carries which message: every edge between stages of different
// ranks has a lane for its activations and, if gradients come back, one for
// them. Messages of a lane are then in the order of micro-batches that
// schedule::validate demands, and never wait for those of another edge.
#pragma once

#include <span>
#include <vector>

#include "merak/dist/peer_channels.h"
#include "merak/schedule/action.h"
#include "merak/schedule/edge.h"

namespace merak::engine {

// `rank_of_stage`: world ranks.
std::vector<dist::Lane> lanes(std::span<const schedule::Edge> edges,
                              std::span<const int> rank_of_stage);

// The lane of a message, of either end.
dist::Lane lane_of(const schedule::Action& message,
                   std::span<const schedule::Edge> edges,
                   std::span<const int> rank_of_stage);

}  // namespace merak::engine
