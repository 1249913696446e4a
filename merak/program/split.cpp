#include "merak/program/split.h"

#include <string>
#include <vector>

#include "merak/base/error.h"
#include "merak/graph/ops/catalogue.h"
#include "merak/program/rewrite.h"

namespace merak::program {
namespace {

using graph::Graph;
using graph::InputKind;
using graph::kNoNode;
using graph::NodeId;
using graph::Output;
using graph::ValueId;

bool is_gradient(const Output& output) {
  return output.name.starts_with(kGradientPrefix);
}

// Copies chosen nodes of `source` into a program of its own. Values that other
// nodes made come in as boundary inputs with a prefixed name, in the order in
// which they are met; views are made again instead.
class Cutter {
 public:
  Cutter(const Graph& source, const std::string& name, const char* prefix,
         std::vector<bool> chosen)
      : source_(source),
        rebuilder_(source, name),
        prefix_(prefix),
        chosen_(std::move(chosen)) {}

  Graph cut(const std::vector<Output>& outputs) {
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!chosen_[i]) continue;
      for_each_operand(source_.nodes()[i],
                       [&](ValueId value) { provide(value); });
      rebuilder_.copy_node(static_cast<NodeId>(i));
    }
    for (const Output& output : outputs) {
      provide(output.value);
      rebuilder_.target().add_output(rebuilder_.mapped(output.value),
                                     output.name);
    }
    const Graph& cut = rebuilder_.target();
    return extract(cut, cut.outputs(), cut.name());  // inputs first
  }

  // What the program needs from before, in the order of the names' numbers.
  const std::vector<ValueId>& carried() const { return carried_; }

 private:
  void provide(ValueId value) {
    if (rebuilder_.has(value)) return;
    const graph::Value& wanted = source_.value(value);
    if (wanted.producer == kNoNode) {
      rebuilder_.copy_input(input_of(value));
      return;
    }
    const graph::Node& producer = source_.node(wanted.producer);
    if (graph::is_view(producer)) {
      for_each_operand(producer, [&](ValueId operand) { provide(operand); });
      rebuilder_.copy_node(wanted.producer);
      return;
    }
    const std::string name = prefix_ + std::to_string(carried_.size());
    rebuilder_.map(value, rebuilder_.target().add_input(InputKind::kBoundary,
                                                        name, wanted.type));
    carried_.push_back(value);
  }

  const graph::Input& input_of(ValueId value) const {
    for (const graph::Input& input : source_.inputs()) {
      if (input.value == value) return input;
    }
    MERAK_CHECK(false, "value %{} has no producer", source_.value(value).name);
    return source_.inputs().front();
  }

  const Graph& source_;
  Rebuilder rebuilder_;
  std::string prefix_;
  std::vector<bool> chosen_;
  std::vector<ValueId> carried_;
};

void add_carried(std::vector<Output>& outputs, const char* prefix,
                 const std::vector<ValueId>& carried) {
  for (std::size_t i = 0; i < carried.size(); ++i) {
    outputs.push_back({carried[i], prefix + std::to_string(i)});
  }
}

std::vector<bool> without(std::vector<bool> all, const std::vector<bool>& out) {
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] && !out[i];
  return all;
}

}  // namespace

Programs split_programs(const Graph& record, std::size_t forward_nodes) {
  std::vector<Output> results, gradients;
  for (const Output& output : record.outputs()) {
    (is_gradient(output) ? gradients : results).push_back(output);
  }
  const auto made_forward = [&](ValueId value) {
    const NodeId producer = record.value(value).producer;
    return producer != kNoNode &&
           static_cast<std::size_t>(producer) < forward_nodes;
  };
  Programs programs;
  Cutter backward(record, "backward", kSavedPrefix,
                  live_nodes(record, gradients, made_forward));
  programs.backward = backward.cut(gradients);
  add_carried(results, kSavedPrefix, backward.carried());
  programs.forward = extract(record, results, "forward");

  const Graph& whole = programs.backward;
  std::vector<Output> inputs, weights;
  for (const Output& output : whole.outputs()) {
    const std::string name =
        output.name.substr(std::string(kGradientPrefix).size());
    const bool boundary =
        record.find_input(InputKind::kBoundary, name) != nullptr;
    (boundary ? inputs : weights).push_back(output);
  }
  const std::vector<bool> for_inputs = live_nodes(whole, inputs);
  Cutter weight(whole, "backward_weight", kStashPrefix,
                without(live_nodes(whole, weights), for_inputs));
  programs.backward_weight = weight.cut(weights);
  add_carried(inputs, kStashPrefix, weight.carried());
  programs.backward_input = extract(whole, inputs, "backward_input");
  return programs;
}

}  // namespace merak::program
