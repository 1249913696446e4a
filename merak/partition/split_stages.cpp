#include "merak/partition/split_stages.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "merak/base/error.h"
#include "merak/graph/gradient_flow.h"

namespace merak::partition {
namespace {

// Messages are dense: a view arrives without its strides.
graph::TensorType as_sent(graph::TensorType type) {
  type.strides.clear();
  return type;
}

using graph::Graph;
using graph::Input;
using graph::InputKind;
using graph::kNoNode;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::Output;
using graph::TensorType;
using graph::ValueId;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

bool is_state(const Input& input) {
  return input.kind == InputKind::kParameter ||
         input.kind == InputKind::kBuffer;
}

class Splitter {
 public:
  Splitter(const Graph& model, const std::vector<int>& stage_of_node,
           int stages)
      : model_(model),
        stage_of_node_(stage_of_node),
        stages_(stages),
        readers_(model.values().size()),
        gradient_(needs_gradient(model)) {}

  StagedModel run() {
    check();
    find_readers();
    name_boundaries();
    StagedModel staged;
    for (int stage = 0; stage < stages_; ++stage) {
      staged.stages.push_back(build(stage));
    }
    staged.edges = edges();
    return staged;
  }

 private:
  int stage_of(NodeId node) const { return stage_of_node_[index(node)]; }

  void check() const {
    MERAK_CHECK(stage_of_node_.size() == model_.nodes().size(),
                "{} stages given for {} nodes", stage_of_node_.size(),
                model_.nodes().size());
    std::vector<bool> used(index(stages_));
    for (std::size_t i = 0; i < model_.nodes().size(); ++i) {
      const int stage = stage_of_node_[i];
      MERAK_CHECK(stage >= 0 && stage < stages_, "node {} is in stage {} of {}",
                  i, stage, stages_);
      used[index(stage)] = true;
      for_each_operand(model_.nodes()[i], [&](ValueId id) {
        const NodeId producer = model_.value(id).producer;
        MERAK_CHECK(producer == kNoNode || stage_of(producer) <= stage,
                    "node {} ({}) in stage {} reads a value of stage {}", i,
                    model_.nodes()[i].op, stage, stage_of(producer));
      });
    }
    const auto empty = std::find(used.begin(), used.end(), false);
    MERAK_CHECK(empty == used.end(), "stage {} of {} has no node",
                empty - used.begin(), stages_);
  }

  void find_readers() {
    for (std::size_t i = 0; i < model_.nodes().size(); ++i) {
      for_each_operand(model_.nodes()[i], [&](ValueId id) {
        readers_[index(id)].insert(stage_of_node_[i]);
      });
    }
    // An output that is an input, and state that nothing reads, need a home.
    for (const Output& output : model_.outputs()) {
      if (model_.value(output.value).producer == kNoNode &&
          readers_[index(output.value)].empty()) {
        readers_[index(output.value)].insert(0);
      }
    }
    for (const Input& input : model_.inputs()) {
      auto& readers = readers_[index(input.value)];
      if (is_state(input) && readers.empty()) readers.insert(0);
    }
  }

  // The stage that has a value first: its producer's, or its first reader's.
  int home(ValueId id) const {
    const NodeId producer = model_.value(id).producer;
    return producer == kNoNode ? *readers_[index(id)].begin()
                               : stage_of(producer);
  }

  bool leaves_stage(ValueId id) const {
    return model_.value(id).producer != kNoNode &&
           !readers_[index(id)].empty() &&
           *readers_[index(id)].rbegin() > home(id);
  }

  // Numbers are no names, and a boundary must not be mistaken for an output of
  // the model or another input.
  void name_boundaries() {
    std::unordered_set<std::string> taken;
    for (const Output& output : model_.outputs()) taken.insert(output.name);
    names_.resize(model_.values().size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!leaves_stage(static_cast<ValueId>(i))) continue;
      names_[i] = "v." + model_.values()[i].name;
      while (!taken.insert(names_[i]).second) names_[i] += "_";
    }
  }

  StageGraph build(int stage) const {
    StageGraph built{Graph(fmt::format("{}.stage{}", model_.name(), stage)),
                     {}};
    std::vector<ValueId> map(model_.values().size(), kNoValue);
    add_inputs(stage, built.graph, map);
    for (std::size_t i = 0; i < model_.nodes().size(); ++i) {
      if (stage_of_node_[i] != stage) continue;
      copy_node(model_.nodes()[i], built.graph, map);
      built.nodes.push_back(static_cast<NodeId>(i));
    }
    add_outputs(stage, built.graph, map);
    return built;
  }

  void add_inputs(int stage, Graph& graph, std::vector<ValueId>& map) const {
    for (const Input& input : model_.inputs()) {
      if (!readers_[index(input.value)].contains(stage)) continue;
      const ValueId copy =
          graph.add_input(input.kind, input.name,
                          model_.value(input.value).type, input.trainable);
      graph.set_name(copy, model_.value(input.value).name);
      map[index(input.value)] = copy;
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (!arrives(id, stage)) continue;
      map[i] = graph.add_input(InputKind::kBoundary, names_[i],
                               as_sent(model_.value(id).type), gradient_[i]);
    }
  }

  bool arrives(ValueId id, int stage) const {
    return leaves_stage(id) && home(id) < stage &&
           readers_[index(id)].contains(stage);
  }

  static std::optional<TensorType> type_of(const Graph& graph, ValueId id) {
    if (id == kNoValue) return std::nullopt;
    return graph.value(id).type;
  }

  void copy_node(Node node, Graph& graph, std::vector<ValueId>& map) const {
    map_operands(node, [&](ValueId id) { return map[index(id)]; });
    std::vector<std::optional<TensorType>> types;
    for (ValueId id : node.results) types.push_back(type_of(model_, id));
    const NodeId copy = graph.add_node(
        std::move(node.op), std::move(node.arguments), std::move(types),
        std::move(node.module), node.grad_enabled);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const ValueId id = node.results[i];
      if (id == kNoValue) continue;
      map[index(id)] = graph.node(copy).results[i];
      const std::string& name = model_.value(id).name;
      if (name != std::to_string(id)) graph.set_name(map[index(id)], name);
    }
  }

  void add_outputs(int stage, Graph& graph,
                   const std::vector<ValueId>& map) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (leaves_stage(id) && home(id) == stage) {
        graph.add_output(map[i], names_[i]);
      }
    }
    for (const Output& output : model_.outputs()) {
      if (home(output.value) != stage) continue;
      graph.add_output(map[index(output.value)], output.name);
    }
  }

  std::vector<Edge> edges() const {
    std::vector<Edge> edges;
    for (int source = 0; source < stages_; ++source) {
      for (int destination = source + 1; destination < stages_; ++destination) {
        Edge edge{source, destination, {}};
        for (std::size_t i = 0; i < names_.size(); ++i) {
          const auto id = static_cast<ValueId>(i);
          if (!arrives(id, destination) || home(id) != source) continue;
          edge.values.push_back(
              {names_[i], as_sent(model_.value(id).type), gradient_[i]});
        }
        if (!edge.values.empty()) edges.push_back(std::move(edge));
      }
    }
    return edges;
  }

  const Graph& model_;
  const std::vector<int>& stage_of_node_;
  const int stages_;
  std::vector<std::set<int>> readers_;  // by value: stages that read it
  const std::vector<bool> gradient_;
  std::vector<std::string> names_;  // by value: of those that leave their stage
};

}  // namespace

StagedModel split_stages(const Graph& model,
                         const std::vector<int>& stage_of_node, int stages) {
  return Splitter(model, stage_of_node, stages).run();
}

}  // namespace merak::partition
