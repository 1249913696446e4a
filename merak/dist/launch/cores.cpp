#include "merak/dist/launch/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <tuple>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

// 0 where the system does not say (containers without /sys).
int read_topology(int id, const char* entry) {
  std::ifstream file(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", id, entry));
  int value = 0;
  return file >> value ? value : 0;
}

// The kernel refuses masks that are smaller than its own.
std::vector<int> affinity() {
  for (int size = CPU_SETSIZE; size <= (1 << 20); size *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(size));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    std::vector<int> ids;
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int id = 0; id < size; ++id) {
        if (CPU_ISSET_S(static_cast<std::size_t>(id), bytes, set)) {
          ids.push_back(id);
        }
      }
    }
    CPU_FREE(set);
    if (!ids.empty()) return ids;
  }
  fail_runtime("cannot read which processors this process may run on");
}

}  // namespace

std::vector<Core> allowed_cores() {
  std::vector<Core> cores;
  for (const int id : affinity()) {
    cores.push_back({id, read_topology(id, "physical_package_id"),
                     read_topology(id, "core_id")});
  }
  return cores;
}

std::vector<std::vector<int>> assign_cores(std::vector<Core> cores, int ranks) {
  MERAK_CHECK(!cores.empty() && ranks >= 1, "{} cores for {} ranks",
              cores.size(), ranks);
  std::ranges::sort(cores, {}, [](const Core& core) {
    return std::tuple(core.package, core.physical, core.id);
  });
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t share = std::max<std::size_t>(1, cores.size() / count);
  std::vector<std::vector<int>> assigned(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const std::size_t first =
        count <= cores.size() ? rank * share : rank * cores.size() / count;
    for (std::size_t i = 0; i < share; ++i) {
      assigned[rank].push_back(cores[first + i].id);
    }
  }
  return assigned;
}

}  // namespace merak::dist
