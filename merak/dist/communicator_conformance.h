// What every Communicator must do, as GoogleTest cases: a test program
// instantiates them for its implementation.
//
//   INSTANTIATE_TEST_SUITE_P(Gloo, CommunicatorConformance,
//                            ::testing::ValuesIn(conformance_cases(run)),
//                            case_name);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "merak/dist/communicator.h"

namespace merak::dist {

// Runs `body` once a rank, each on a thread of its own, with that rank's
// factory; returns when all are done and throws what the first of them threw.
using RankBody = std::function<void(GroupFactory&)>;
using RunRanks = std::function<void(int ranks, const RankBody& body)>;

// Threads for the above: make(rank) is called on the rank's thread.
void run_rank_threads(
    int ranks,
    const std::function<std::unique_ptr<GroupFactory>(int rank)>& make,
    const RankBody& body);

struct ConformanceCase {
  std::string name;
  int ranks;
  RunRanks run;
};
std::vector<ConformanceCase> conformance_cases(const RunRanks& run);

class CommunicatorConformance : public testing::TestWithParam<ConformanceCase> {
};

inline std::string case_name(
    const testing::TestParamInfo<ConformanceCase>& info) {
  return info.param.name;
}

}  // namespace merak::dist
