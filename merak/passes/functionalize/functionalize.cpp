#include "merak/passes/functionalize/functionalize.h"

#include <algorithm>
#include <array>
#include <utility>

#include "merak/base/error.h"
#include "merak/graph/arguments.h"
#include "merak/graph/gradient_flow.h"
#include "merak/graph/ops/catalogue.h"
#include "merak/graph/rewriter.h"
#include "merak/graph/text.h"
#include "merak/passes/functionalize/alias_classes.h"
#include "merak/passes/functionalize/check_write.h"
#include "merak/passes/functionalize/in_place_table.h"
#include "merak/passes/functionalize/messages.h"
#include "merak/passes/functionalize/out_of_place.h"

namespace merak::passes {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;

// In training these update argument 3, the running mean, and 4, the variance.
// Their first eight arguments are those of the functional form.
constexpr std::array<std::string_view, 3> kBatchNorms = {
    "aten.batch_norm", "aten.native_batch_norm",
    "aten._native_batch_norm_legit"};
constexpr std::size_t kBatchNormArguments = 8;
constexpr std::size_t kRunningMean = 3;
constexpr std::size_t kRunningVariance = 4;

bool is_batch_norm(const Node& node) {
  return std::find(kBatchNorms.begin(), kBatchNorms.end(), node.op) !=
         kBatchNorms.end();
}

class Functionalizer {
 public:
  explicit Functionalizer(const Graph& graph)
      : rewriter_(graph), classes_(rewriter_) {}

  Graph run() {
    for (std::size_t i = 0; i < source().nodes().size(); ++i) {
      replace(static_cast<NodeId>(i));
    }
    for (const graph::Output& output : source().outputs()) {
      target().add_output(read(output.value), output.name);
    }
    add_buffer_outputs();
    return rewriter_.finish();
  }

 private:
  const Graph& source() const { return rewriter_.source(); }
  Graph& target() { return rewriter_.target(); }
  ValueId read(ValueId source_value) {
    return classes_.read(classes_.tensor_of(source_value));
  }

  void replace(NodeId id) {
    const Node& node = source().node(id);
    const std::vector<std::size_t> written = written_arguments(node);
    if (written.empty()) return keep(id);
    any_write_ = true;
    if (is_batch_norm(node)) return update_statistics(id);
    const std::optional<PureForm> form = pure_form(node.op);
    if (!form || !all_tensors(node, written)) {
      fail_usage(
          "{} writes to its arguments, and no form of it is known that does "
          "not; use an operator that returns a new tensor",
          name_of_node(node));
    }
    if (written.size() == 1 && written[0] == 0) {
      in_place(id, *form);
    } else {
      out(id, *form, written);
    }
  }

  static bool all_tensors(const Node& node,
                          const std::vector<std::size_t>& positions) {
    return std::all_of(positions.begin(), positions.end(), [&](std::size_t i) {
      return graph::tensor_argument(node, i) != kNoValue;
    });
  }

  void keep(NodeId id) {
    const Node& node = source().node(id);
    for_each_operand(node,
                     [&](ValueId value) { rewriter_.map(value, read(value)); });
    const NodeId copy = rewriter_.copy(id);
    if (any_write_) forget_layout(target().node(copy));
    add_results(id, target().node(copy).results);
  }

  // Operators that want a layout which new values may not have.
  static void forget_layout(Node& node) {
    if (node.op == "aten.view" || node.op == "aten._unsafe_view") {
      node.op = "aten.reshape";
    } else if (node.op == "aten._reshape_alias") {
      node.op = "aten.reshape";
      node.arguments.resize(2);
    } else if (node.op == "aten.view_as") {
      node.op = "aten.reshape_as";
    } else if (node.op == "aten.as_strided") {
      fail_usage(
          "{} depends on how tensors lie in memory, which is not known once "
          "the model has written in place; use other views",
          name_of_node(node));
    }
  }

  void add_results(NodeId id, const std::vector<ValueId>& values) {
    const Node& node = source().node(id);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] != kNoValue) classes_.add_result(id, i, values[i]);
    }
  }

  TensorId written_tensor(NodeId id, std::size_t argument) const {
    return classes_.tensor_of(
        graph::tensor_argument(source().node(id), argument));
  }

  void in_place(NodeId id, const PureForm& form) {
    const Node& node = source().node(id);
    const TensorId tensor = written_tensor(id, 0);
    if (form.kind == PureKind::kView) {
      check_owned(classes_, tensor, node);
      classes_.look_differently(tensor, id, form.op);
      return;
    }
    if (form.kind != PureKind::kNothing) {
      check_write(classes_, tensor, node, target());
      const ValueId value =
          value_in_place(rewriter_, classes_, id, form, tensor);
      classes_.write(tensor, value, id);
    }
    for (ValueId result : node.results) {
      if (result != kNoValue) classes_.identify(result, tensor);
    }
  }

  void out(NodeId id, const PureForm& form,
           const std::vector<std::size_t>& written) {
    const Node& node = source().node(id);
    std::vector<TensorId> tensors;
    for (std::size_t argument : written) {
      tensors.push_back(written_tensor(id, argument));
      check_write(classes_, tensors.back(), node, target());
    }
    check_sizes(node, tensors);
    const std::vector<ValueId> values =
        values_of_out(rewriter_, classes_, id, form, tensors);
    for (std::size_t i = 0; i < values.size(); ++i) {
      classes_.write(tensors[i], values[i], id);
      if (i < node.results.size() && node.results[i] != kNoValue) {
        classes_.identify(node.results[i], tensors[i]);
      }
    }
  }

  void check_sizes(const Node& node, const std::vector<TensorId>& tensors) {
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] == kNoValue) continue;
      const TensorType& wanted = source().value(node.results[i]).type;
      const TensorType& given = classes_.tensor(tensors[i]).type;
      if (wanted.shape == given.shape) continue;
      fail_usage(
          "{} changes the size of its argument `out` from {} to {}; give it "
          "one of the right size",
          name_of_node(node), print(given), print(wanted));
    }
  }

  void update_statistics(NodeId id) {
    const Node& node = source().node(id);
    Node pure = node;
    pure.arguments.resize(kBatchNormArguments);
    map_operands(pure, [&](ValueId value) { return read(value); });
    const TensorId mean = written_tensor(id, kRunningMean);
    const TensorId variance = written_tensor(id, kRunningVariance);
    check_write(classes_, mean, node, target());
    check_write(classes_, variance, node, target());
    const TensorType& statistics = classes_.tensor(mean).type;
    const NodeId made = target().add_node(
        "aten._native_batch_norm_legit_functional", std::move(pure.arguments),
        {source().value(node.results[0]).type, statistics, statistics,
         statistics, classes_.tensor(variance).type},
        node.module, node.grad_enabled);
    const std::vector<ValueId> results = target().node(made).results;
    add_results(id, results);
    classes_.write(mean, detach(node, results[3]), id);
    classes_.write(variance, detach(node, results[4]), id);
  }

  ValueId detach(const Node& like, ValueId value) {
    return rewriter_.add(like, "aten.detach", {value},
                         target().value(value).type);
  }

  void add_buffer_outputs() {
    for (const graph::Input& input : source().inputs()) {
      const TensorId buffer = classes_.tensor_of(input.value);
      if (input.kind != graph::InputKind::kBuffer ||
          classes_.tensor(buffer).writes == 0) {
        continue;
      }
      const std::string name = "buffer:" + input.name;
      if (source().find_output(name)) continue;
      ValueId value = classes_.read(buffer);
      if (needs_gradient(target())[static_cast<std::size_t>(value)]) {
        value = detach({}, value);
      }
      target().add_output(value, name);
    }
  }

  graph::Rewriter rewriter_;
  AliasClasses classes_;
  bool any_write_ = false;
};

}  // namespace

bool functionalize(Graph& graph, const PassOptions&) {
  const bool writes = std::any_of(
      graph.nodes().begin(), graph.nodes().end(),
      [](const Node& node) { return !written_arguments(node).empty(); });
  if (writes) graph = Functionalizer(graph).run();
  return writes;
}

}  // namespace merak::passes
