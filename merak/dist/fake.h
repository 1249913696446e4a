// One process poses as rank r of n: for dry runs of a large layout, and for
// measuring a rank's compute alone. Nothing is communicated: all_reduce and
// broadcast leave the data, all_gather repeats the own part, a receive fills
// with zeros.
#pragma once

#include <memory>

#include "merak/dist/communicator.h"

namespace merak::dist {

std::unique_ptr<GroupFactory> make_fake_factory(int rank, int world_size);

}  // namespace merak::dist
