#include "merak/partition/tied_uses.h"

#include <map>
#include <set>
#include <vector>

#include "merak/base/error.h"

namespace merak::partition {
namespace {

using graph::InputKind;
using graph::NodeId;
using graph::ValueId;

// By parameter: the shards that read it.
std::map<std::string, std::set<int>> reading_shards(const StagedModel& staged,
                                                    const Sharding& sharding) {
  std::map<std::string, std::set<int>> shards;
  for (const StageGraph& stage : staged.stages) {
    const auto users = users_of_values(stage.graph);
    for (const graph::Input& input : stage.graph.inputs()) {
      if (input.kind != InputKind::kParameter) continue;
      for (NodeId node : users[static_cast<std::size_t>(input.value)]) {
        const NodeId original = stage.nodes[static_cast<std::size_t>(node)];
        shards[input.name].insert(
            sharding.shard_of_node[static_cast<std::size_t>(original)]);
      }
    }
  }
  return shards;
}

// A copy of a stage's graph in which tied parameters have an input a use.
class Separation {
 public:
  Separation(const StageGraph& stage, const Sharding& sharding,
             const std::map<std::string, std::set<int>>& shards)
      : stage_(stage),
        source_(stage.graph),
        sharding_(sharding),
        shards_(shards),
        target_(stage.graph.name()),
        map_(stage.graph.values().size(), graph::kNoValue) {}

  graph::Graph run() {
    copy_inputs();
    for (std::size_t i = 0; i < source_.nodes().size(); ++i) copy_node(i);
    for (const graph::Output& output : source_.outputs()) {
      target_.add_output(map_[index(output.value)], output.name);
    }
    return std::move(target_);
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  int shard_of(std::size_t node) const {
    return sharding_.shard_of_node[index(stage_.nodes[node])];
  }

  // The shards of this stage among the parameter's, by their place in the
  // whole model; empty for what is not tied.
  std::map<int, int> uses_here(const graph::Input& input) const {
    std::map<int, int> uses;
    const auto found = shards_.find(input.name);
    if (input.kind != InputKind::kParameter || found == shards_.end() ||
        found->second.size() < 2) {
      return uses;
    }
    std::set<int> here;
    for (std::size_t i = 0; i < source_.nodes().size(); ++i) {
      for_each_operand(source_.nodes()[i], [&](ValueId value) {
        if (value == input.value) here.insert(shard_of(i));
      });
    }
    int use = 0;
    for (int shard : found->second) {
      if (here.contains(shard)) uses[shard] = use;
      ++use;
    }
    return uses;
  }

  void copy_inputs() {
    for (const graph::Input& input : source_.inputs()) {
      const graph::TensorType& type = source_.value(input.value).type;
      const std::map<int, int> uses = uses_here(input);
      if (uses.empty()) {
        map_[index(input.value)] =
            target_.add_input(input.kind, input.name, type, input.trainable);
      }
      for (const auto& [shard, use] : uses) {
        const ValueId here = target_.add_input(
            input.kind, use_name(input.name, use), type, input.trainable);
        by_shard_[{input.value, shard}] = here;
        // Read by no node but as an output, the first use stands for it.
        ValueId& any = map_[index(input.value)];
        if (any == graph::kNoValue) any = here;
      }
    }
  }

  void copy_node(std::size_t i) {
    graph::Node node = source_.nodes()[i];
    graph::map_operands(node, [&](ValueId value) {
      const auto use = by_shard_.find({value, shard_of(i)});
      return use == by_shard_.end() ? map_[index(value)] : use->second;
    });
    std::vector<std::optional<graph::TensorType>> types;
    for (ValueId result : node.results) {
      types.push_back(result == graph::kNoValue
                          ? std::nullopt
                          : std::optional(source_.value(result).type));
    }
    const NodeId copy =
        target_.add_node(node.op, std::move(node.arguments), std::move(types),
                         node.module, node.grad_enabled);
    for (std::size_t k = 0; k < node.results.size(); ++k) {
      if (node.results[k] == graph::kNoValue) continue;
      map_[index(node.results[k])] = target_.node(copy).results[k];
    }
  }

  const StageGraph& stage_;
  const graph::Graph& source_;
  const Sharding& sharding_;
  const std::map<std::string, std::set<int>>& shards_;
  graph::Graph target_;
  std::vector<ValueId> map_;
  std::map<std::pair<ValueId, int>, ValueId> by_shard_;
};

}  // namespace

std::string use_name(const std::string& parameter, int use) {
  return use == 0 ? parameter : parameter + "#" + std::to_string(use);
}

std::string parameter_of_use(std::string_view use) {
  return std::string(use.substr(0, use.find('#')));
}

void separate_tied_uses(StagedModel& staged, const Sharding& sharding) {
  const auto shards = reading_shards(staged, sharding);
  for (StageGraph& stage : staged.stages) {
    stage.graph = Separation(stage, sharding, shards).run();
  }
}

}  // namespace merak::partition
