// Communicators whose operations are entries of the rank's flight recorder:
// collectives and messages, each from its post to the end of its wait().
//
// An entry says which operation ("all_reduce"), on which group, and of what:
// "dp.0: 1024 f32 sum". Its step and micro-batch are those of the action at
// hand. What was posted and never waited for has no end.
#pragma once

#include <memory>

#include "merak/dist/communicator.h"
#include "merak/dist/flight_recorder.h"

namespace merak::dist {

// The groups of `factory`, recorded. Both arguments outlive the result; the
// recorder outlives the groups too.
std::unique_ptr<GroupFactory> make_recorded_factory(GroupFactory& factory,
                                                    FlightRecorder& recorder);

}  // namespace merak::dist
