#include "merak/dist/launch/cores.h"

#include <gmock/gmock.h>

namespace merak::dist {
namespace {

using testing::ElementsAre;

std::vector<Core> plain(int count) {
  std::vector<Core> cores;
  for (int i = 0; i < count; ++i) cores.push_back({i, 0, i});
  return cores;
}

TEST(Cores, AreSharedOutEvenly) {
  EXPECT_THAT(assign_cores(plain(4), 2),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(assign_cores(plain(5), 2),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(Cores, MoreRanksThanCoresShareThem) {
  EXPECT_THAT(assign_cores(plain(2), 5),
              ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(0),
                          ElementsAre(1), ElementsAre(1)));
  EXPECT_THAT(assign_cores(plain(1), 3),
              ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(0)));
}

// Two packages of two cores with two hyperthreads each, numbered as Linux
// does: siblings are 4 apart.
TEST(Cores, HyperthreadsStayTogether) {
  const std::vector<Core> cores = {{0, 0, 0}, {1, 1, 0}, {2, 0, 1}, {3, 1, 1},
                                   {4, 0, 0}, {5, 1, 0}, {6, 0, 1}, {7, 1, 1}};
  EXPECT_THAT(assign_cores(cores, 4),
              ElementsAre(ElementsAre(0, 4), ElementsAre(2, 6),
                          ElementsAre(1, 5), ElementsAre(3, 7)));
  EXPECT_THAT(assign_cores(cores, 2),
              ElementsAre(ElementsAre(0, 4, 2, 6), ElementsAre(1, 5, 3, 7)));
}

TEST(Cores, ThisProcessHasSome) { EXPECT_FALSE(allowed_cores().empty()); }

}  // namespace
}  // namespace merak::dist
