#include "merak/dist/mesh.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "merak/base/error.h"
#include "merak/dist/fake.h"

namespace merak::dist {
namespace {

using testing::ElementsAre;

TEST(Mesh, TensorIsInnermostAndPipelineOutermost) {
  const Mesh mesh(2, 2, 2);
  EXPECT_EQ(mesh.coordinate(5), (Coordinate{1, 0, 1}));
  EXPECT_THAT(mesh.group(5, Axis::kTensor), ElementsAre(4, 5));
  EXPECT_THAT(mesh.group(5, Axis::kData), ElementsAre(5, 7));
  EXPECT_THAT(mesh.group(5, Axis::kPipeline), ElementsAre(1, 5));
  EXPECT_EQ(mesh.label(5), "[pp1 dp0 tp1]");
}

// Over odd shapes: coordinates invert ranks, and the groups of an axis hold
// each rank once.
TEST(Mesh, GroupsPartitionTheWorld) {
  for (const auto& [pp, dp, tp] :
       {std::array{1, 1, 1}, {3, 2, 5}, {1, 7, 2}, {4, 1, 3}}) {
    const Mesh mesh(pp, dp, tp);
    for (int rank = 0; rank < mesh.size(); ++rank) {
      EXPECT_EQ(mesh.rank(mesh.coordinate(rank)), rank);
    }
    for (const Axis axis : kAxes) {
      std::vector<int> seen;
      for (const std::vector<int>& group : mesh.groups(axis)) {
        EXPECT_EQ(group.size(), static_cast<std::size_t>(mesh.degree(axis)));
        for (std::size_t i = 0; i < group.size(); ++i) {
          seen.push_back(group[i]);
          EXPECT_EQ(mesh.coordinate(group[i]).on(axis), static_cast<int>(i));
          EXPECT_EQ(mesh.group(group[i], axis), group);
        }
      }
      std::ranges::sort(seen);
      for (int rank = 0; rank < mesh.size(); ++rank) {
        EXPECT_EQ(seen[static_cast<std::size_t>(rank)], rank);
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(mesh.size()));
    }
  }
}

TEST(Mesh, RefusesWhatIsNoLayout) {
  EXPECT_THROW(Mesh(0, 1, 1), Error);
  EXPECT_THROW(Mesh(1, -2, 1), Error);
  const Mesh mesh(2, 1, 1);
  EXPECT_THROW(mesh.coordinate(2), Error);
  EXPECT_THROW(mesh.rank({0, 1, 0}), Error);
  const auto factory = make_fake_factory(0, 3);
  try {
    make_mesh_groups(mesh, *factory);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("needs 2 ranks; there are 3"));
  }
}

}  // namespace
}  // namespace merak::dist
