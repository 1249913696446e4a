#include "merak/partition/tied.h"

#include <unordered_map>

namespace merak::partition {

std::vector<TiedParameter> tied_parameters(const StagedModel& staged) {
  std::vector<TiedParameter> all;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t stage = 0; stage < staged.stages.size(); ++stage) {
    for (const graph::Input& input : staged.stages[stage].graph.inputs()) {
      if (input.kind != graph::InputKind::kParameter) continue;
      const auto [place, fresh] = places.emplace(input.name, all.size());
      if (fresh) all.push_back({input.name, {}});
      all[place->second].stages.push_back(static_cast<int>(stage));
    }
  }
  std::erase_if(all, [](const TiedParameter& parameter) {
    return parameter.stages.size() < 2;
  });
  return all;
}

}  // namespace merak::partition
