// Building a new graph out of parts of another one.
//
// Graphs are never edited in place where nodes go away: a Rebuilder copies what
// is wanted and keeps the map of values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "merak/graph/graph.h"

namespace merak::program {

class Rebuilder {
 public:
  Rebuilder(const graph::Graph& source, std::string name)
      : source_(source),
        target_(std::move(name)),
        map_(source.values().size(), graph::kNoValue) {}

  // Copies an input as it is; does nothing if the value is there already.
  void copy_input(const graph::Input& input);
  // Copies a node whose operands are mapped already.
  void copy_node(graph::NodeId id);
  // Says that `value` of the source is `mapped` in the target.
  void map(graph::ValueId value, graph::ValueId mapped);

  bool has(graph::ValueId value) const;
  graph::ValueId mapped(graph::ValueId value) const;
  graph::Graph& target() { return target_; }

 private:
  const graph::Graph& source_;
  graph::Graph target_;
  std::vector<graph::ValueId> map_;
};

// live[n]: node n is needed for the outputs. Values for which `stop` answers
// true count as given: what produced them is not needed for them.
std::vector<bool> live_nodes(
    const graph::Graph& graph, const std::vector<graph::Output>& outputs,
    const std::function<bool(graph::ValueId)>& stop = {});

// The part of a graph that computes `outputs`, with the inputs it reads.
graph::Graph extract(const graph::Graph& graph,
                     const std::vector<graph::Output>& outputs,
                     const std::string& name);

}  // namespace merak::program
