// The model graph cut into one graph a stage.
//
// A stage has its nodes in the model's order. Parameters, buffers, constants,
// user inputs and the random key are inputs of every stage that reads them, by
// their global names: a tied parameter is an input of several stages. A value
// of an earlier stage is a boundary input; the earlier stage has it as an
// output of the same name. It travels straight to each stage that reads it,
// however far, and never through the stages between.
#pragma once

#include <string>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::partition {

struct StageGraph {
  graph::Graph graph;
  std::vector<graph::NodeId> nodes;  // by node of the stage: the model's node
};

struct BoundaryValue {
  std::string name;  // of the output there and the boundary input here
  graph::TensorType type;
  bool gradient = false;  // a gradient comes back; never for integers
};

// What one stage sends another for each micro-batch, in the order of the
// destination's boundary inputs.
struct Edge {
  int source = 0;
  int destination = 0;
  std::vector<BoundaryValue> values;
};

struct StagedModel {
  std::vector<StageGraph> stages;
  std::vector<Edge> edges;  // ordered by source, then destination
};

// `stage_of_node`: 0 .. stages - 1 for every node, at least one node a stage,
// never greater than the stage of a reader; checked. Outputs of the model leave
// the stage that makes them. Parameters and buffers that no node reads stay in
// stage 0: they are part of the model's state, and their gradient is zero.
StagedModel split_stages(const graph::Graph& model,
                         const std::vector<int>& stage_of_node, int stages);

}  // namespace merak::partition
