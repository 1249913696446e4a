#include "merak/dist/fake.h"

#include <gmock/gmock.h>

#include <array>

#include "merak/dist/mesh.h"

namespace merak::dist {
namespace {

using testing::ElementsAre;

TEST(Fake, PosesAsAnyRankOfALargeWorld) {
  const Mesh mesh(8, 16, 8);
  const auto factory = make_fake_factory(777, mesh.size());
  const MeshGroups groups = make_mesh_groups(mesh, *factory);
  EXPECT_EQ(groups.world->rank(), 777);
  EXPECT_EQ(groups.data->size(), 16);
  EXPECT_EQ(groups.data->rank(), mesh.coordinate(777).data);
  EXPECT_EQ(groups.tensor->rank(), mesh.coordinate(777).tensor);
  EXPECT_EQ(groups.pipeline->rank(), mesh.coordinate(777).pipeline);
}

TEST(Fake, OperationsFinishAlone) {
  const auto factory = make_fake_factory(1, 3);
  const std::array members = {0, 1, 2};
  const auto group = factory->make_group("world", members);
  std::array<float, 2> data = {1, 2};
  const Buffer buffer = {data.data(), 2, DType::kF32};
  group->all_reduce(buffer, ReduceOp::kSum)->wait();
  group->broadcast(buffer, 0)->wait();
  group->barrier()->wait();
  group->send(std::as_bytes(std::span(data)), 0, 0)->wait();
  EXPECT_THAT(data, ElementsAre(1, 2));
  std::array<float, 6> all{};
  group->all_gather(buffer, {all.data(), 6, DType::kF32})->wait();
  EXPECT_THAT(all, ElementsAre(1, 2, 1, 2, 1, 2));
  group->receive(std::as_writable_bytes(std::span(data)), 2, 0)->wait();
  EXPECT_THAT(data, ElementsAre(0, 0));
}

}  // namespace
}  // namespace merak::dist
