// Where a rank stands: the axes [pipeline, data, tensor], tensor innermost, so
// that the ranks of a tensor group, which talk most, are neighbours.
//
//   Mesh(2, 2, 2):  rank 5 = [pp1 dp0 tp1]
//   tensor group of rank 5: 4 5; data group: 5 7; pipeline group: 1 5
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merak/dist/communicator.h"

namespace merak::dist {

enum class Axis : std::uint8_t { kPipeline, kData, kTensor };
inline constexpr std::array kAxes = {Axis::kPipeline, Axis::kData,
                                     Axis::kTensor};
std::string_view name_of(Axis axis);  // "pp", "dp", "tp"

struct Coordinate {
  int pipeline = 0;
  int data = 0;
  int tensor = 0;

  bool operator==(const Coordinate&) const = default;
  int& on(Axis axis);
  int on(Axis axis) const;
};

class Mesh {
 public:
  // Degrees are at least 1 (a usage error).
  Mesh(int pipeline, int data, int tensor);

  int size() const;
  int degree(Axis axis) const { return degrees_.on(axis); }
  Coordinate coordinate(int rank) const;
  int rank(const Coordinate& coordinate) const;

  // The ranks that differ from `rank` along the axis only, in its order.
  std::vector<int> group(int rank, Axis axis) const;
  // All groups along an axis, ordered by their first rank: together they hold
  // each rank once.
  std::vector<std::vector<int>> groups(Axis axis) const;

  std::string label(int rank) const;  // "[pp1 dp0 tp1]"

 private:
  Coordinate degrees_;
};

// The groups of one rank. Made by all ranks, in the same order.
struct MeshGroups {
  std::unique_ptr<Communicator> world;
  std::unique_ptr<Communicator> pipeline;
  std::unique_ptr<Communicator> data;
  std::unique_ptr<Communicator> tensor;
};
MeshGroups make_mesh_groups(const Mesh& mesh, GroupFactory& factory);

}  // namespace merak::dist
