#include "merak/dist/mesh.h"

#include <numeric>

#include "merak/base/error.h"
#include "merak/base/log.h"

namespace merak::dist {

std::string_view name_of(Axis axis) {
  switch (axis) {
    case Axis::kPipeline:
      return "pp";
    case Axis::kData:
      return "dp";
    case Axis::kTensor:
      return "tp";
  }
  return "?";
}

int& Coordinate::on(Axis axis) {
  if (axis == Axis::kPipeline) return pipeline;
  return axis == Axis::kData ? data : tensor;
}

int Coordinate::on(Axis axis) const {
  return const_cast<Coordinate*>(this)->on(axis);
}

Mesh::Mesh(int pipeline, int data, int tensor)
    : degrees_{pipeline, data, tensor} {
  if (pipeline < 1 || data < 1 || tensor < 1) {
    fail_usage(
        "the degrees of parallelism are pipeline {}, data {}, tensor {}; each "
        "must be at least 1",
        pipeline, data, tensor);
  }
}

int Mesh::size() const {
  return degrees_.pipeline * degrees_.data * degrees_.tensor;
}

Coordinate Mesh::coordinate(int rank) const {
  MERAK_CHECK(0 <= rank && rank < size(), "rank {} of {}", rank, size());
  return {rank / (degrees_.data * degrees_.tensor),
          rank / degrees_.tensor % degrees_.data, rank % degrees_.tensor};
}

int Mesh::rank(const Coordinate& coordinate) const {
  for (Axis axis : kAxes) {
    MERAK_CHECK(0 <= coordinate.on(axis) && coordinate.on(axis) < degree(axis),
                "{}{} of {}", name_of(axis), coordinate.on(axis), degree(axis));
  }
  return (coordinate.pipeline * degrees_.data + coordinate.data) *
             degrees_.tensor +
         coordinate.tensor;
}

std::vector<int> Mesh::group(int rank, Axis axis) const {
  Coordinate member = coordinate(rank);
  std::vector<int> ranks;
  for (int i = 0; i < degree(axis); ++i) {
    member.on(axis) = i;
    ranks.push_back(this->rank(member));
  }
  return ranks;
}

std::vector<std::vector<int>> Mesh::groups(Axis axis) const {
  std::vector<std::vector<int>> all;
  for (int i = 0; i < size(); ++i) {
    if (coordinate(i).on(axis) == 0) all.push_back(group(i, axis));
  }
  return all;
}

std::string Mesh::label(int rank) const {
  const Coordinate at = coordinate(rank);
  return rank_prefix(at.pipeline, at.data, at.tensor);
}

MeshGroups make_mesh_groups(const Mesh& mesh, GroupFactory& factory) {
  if (factory.world_size() != mesh.size()) {
    fail_usage(
        "the layout pipeline {} x data {} x tensor {} needs {} ranks; there "
        "are {}",
        mesh.degree(Axis::kPipeline), mesh.degree(Axis::kData),
        mesh.degree(Axis::kTensor), mesh.size(), factory.world_size());
  }
  MeshGroups made;
  std::vector<int> everyone(static_cast<std::size_t>(mesh.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  made.world = factory.make_group("world", everyone);
  const auto make_axis = [&](Axis axis, std::unique_ptr<Communicator>& mine) {
    int index = 0;
    for (const std::vector<int>& members : mesh.groups(axis)) {
      auto group = factory.make_group(
          fmt::format("{}.{}", name_of(axis), index++), members);
      if (group) mine = std::move(group);
    }
  };
  make_axis(Axis::kPipeline, made.pipeline);
  make_axis(Axis::kData, made.data);
  make_axis(Axis::kTensor, made.tensor);
  return made;
}

}  // namespace merak::dist
