// Which cores a local rank runs on.
#pragma once

#include <vector>

namespace merak::dist {

// A logical processor, and where it sits.
struct Core {
  int id = 0;
  int package = 0;
  int physical = 0;  // core within the package; shared by hyperthreads
};

// The processors that this thread may run on, as the system describes them.
std::vector<Core> allowed_cores();

// The processors of each rank: cores/ranks of them, at least one. Neighbours
// in (package, physical core) go together, so that a rank has whole cores of
// one package where the numbers allow it. With more ranks than cores, ranks
// share.
std::vector<std::vector<int>> assign_cores(std::vector<Core> cores, int ranks);

}  // namespace merak::dist
