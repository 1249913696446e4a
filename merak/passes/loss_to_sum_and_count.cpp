#include "merak/passes/loss_to_sum_and_count.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/graph/arguments.h"
#include "merak/graph/text.h"
#include "merak/passes/cross_entropy.h"

namespace merak::passes {
namespace {

using graph::Attribute;
using graph::Graph;
using graph::kNoNode;
using graph::kNoValue;
using graph::Node;
using graph::Output;
using graph::Shape;
using graph::TensorType;
using graph::ValueId;

struct SumAndCount {
  ValueId sum = kNoValue;
  ValueId count = kNoValue;
};

Attribute integer(std::int64_t value) { return {value}; }

// New nodes come last, so every value is there; what they replace is left to
// eliminate_dead_nodes.
class LossRewriter {
 public:
  LossRewriter(Graph& graph, const PassOptions& options)
      : graph_(graph), options_(options) {}

  SumAndCount rewrite(ValueId loss) {
    const ValueId inner = look_through_casts(loss);
    if (const auto found = match_cross_entropy(graph_, inner)) {
      return cross_entropy(*found);
    }
    return average_over_samples(loss);
  }

 private:
  ValueId add(const Node& like, const char* op,
              std::vector<graph::Argument> arguments, TensorType type) {
    const auto id = graph_.add_node(op, std::move(arguments), {std::move(type)},
                                    like.module, like.grad_enabled);
    return graph_.node(id).results[0];
  }

  // A scalar's value survives these.
  ValueId look_through_casts(ValueId id) const {
    static constexpr std::array<std::string_view, 7> kCasts = {
        "aten._to_copy", "aten.to.dtype", "aten.clone",  "aten.alias",
        "aten.view",     "aten.reshape",  "aten.squeeze"};
    while (graph_.value(id).producer != kNoNode) {
      const Node& node = graph_.node(graph_.value(id).producer);
      const bool cast =
          std::find(kCasts.begin(), kCasts.end(), node.op) != kCasts.end();
      const ValueId inner = cast ? graph::tensor_argument(node, 0) : kNoValue;
      if (inner == kNoValue || !is_floating(graph_.value(inner).type.dtype)) {
        break;
      }
      id = inner;
    }
    return id;
  }

  SumAndCount cross_entropy(CrossEntropy found) {
    const Node like = graph_.node(found.node);
    flatten(like, found);
    const TensorType& logits = graph_.value(found.logits).type;
    const DType type = logits.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    const auto node = graph_.add_node(
        "merak.cross_entropy_sum",
        {found.logits, found.labels, integer(found.ignore_index)},
        {TensorType{type, {}, {}}, TensorType{type, {logits.shape[0]}, {}}},
        like.module, like.grad_enabled);
    const ValueId count = add(like, "merak.count_valid",
                              {found.labels, integer(found.ignore_index)},
                              TensorType{DType::kI64, {}, {}});
    return {graph_.node(node).results[0], count};
  }

  // To logits [N, C] and labels [N]. -1 and not N: N follows the batch.
  void flatten(const Node& like, CrossEntropy& found) {
    Shape shape = graph_.value(found.logits).type.shape;
    const DType dtype = graph_.value(found.logits).type.dtype;
    if (shape.size() > 2 && !found.class_last) {
      Shape order(shape.size());
      std::iota(order.begin(), order.end(), 0);
      order.erase(order.begin() + 1);
      order.push_back(1);
      const std::int64_t classes = shape[1];
      shape.erase(shape.begin() + 1);
      shape.push_back(classes);
      found.logits = add(like, "aten.permute", {found.logits, Attribute{order}},
                         TensorType{dtype, shape, {}});
    }
    const TensorType labels = graph_.value(found.labels).type;
    const std::int64_t rows = labels.numel();
    if (shape.size() != 2) {
      found.logits = add(like, "aten.reshape",
                         {found.logits, Attribute{Shape{-1, shape.back()}}},
                         TensorType{dtype, {rows, shape.back()}, {}});
    }
    if (labels.shape.size() != 1) {
      found.labels =
          add(like, "aten.reshape", {found.labels, Attribute{Shape{-1}}},
              TensorType{labels.dtype, {rows}, {}});
    }
  }

  SumAndCount average_over_samples(ValueId loss) {
    const std::int64_t samples = number_of_samples();
    const graph::NodeId producer = graph_.value(loss).producer;
    const Node like = producer == kNoNode ? Node{} : graph_.node(producer);
    TensorType type{graph_.value(loss).type.dtype, {}, {}};
    if (type.dtype == DType::kF16 || type.dtype == DType::kBF16) {
      type.dtype = DType::kF32;
      loss = add(like, "aten._to_copy",
                 {loss, Attribute{type.dtype}, Attribute{}, Attribute{},
                  Attribute{}, Attribute{false}, Attribute{}},
                 type);
    }
    const ValueId sum =
        add(like, "aten.mul.Scalar", {loss, integer(samples)}, type);
    const ValueId count =
        add(like, "aten.full",
            {Attribute{Shape{}}, integer(samples), Attribute{DType::kI64},
             Attribute{}, Attribute{}, Attribute{}},
            TensorType{DType::kI64, {}, {}});
    return {sum, count};
  }

  std::int64_t number_of_samples() const {
    if (options_.samples > 0) return options_.samples;
    const graph::Input* first = nullptr;
    for (const graph::Input& input : graph_.inputs()) {
      if (input.kind != graph::InputKind::kUser || size_of(input) < 0) continue;
      if (!first) first = &input;
      if (size_of(input) == size_of(*first)) continue;
      fail_usage(
          "the loss is averaged over samples, but inputs disagree on how many "
          "there are: '{}' has {}, '{}' has {}; the first dimension of every "
          "input must be the sample",
          first->name, size_of(*first), input.name, size_of(input));
    }
    if (!first) {
      fail_usage(
          "the loss is averaged over samples, but the model has no input whose "
          "first dimension could be the sample");
    }
    return size_of(*first);
  }

  std::int64_t size_of(const graph::Input& input) const {
    const Shape& shape = graph_.value(input.value).type.shape;
    return shape.empty() ? -1 : shape[0];
  }

  Graph& graph_;
  const PassOptions& options_;
};

bool is_buffer(const Output& output) {
  return output.name.starts_with("buffer:");
}

bool is_scalar_loss(const Graph& graph, const Output& output) {
  const TensorType& type = graph.value(output.value).type;
  return type.shape.empty() && is_floating(type.dtype) && !is_buffer(output);
}

const Output& find_loss(const Graph& graph) {
  const Output* loss = nullptr;
  std::vector<std::string> losses;
  std::vector<std::string> all;
  for (const Output& output : graph.outputs()) {
    all.push_back(fmt::format("'{}' {}", output.name,
                              print(graph.value(output.value).type)));
    if (!is_scalar_loss(graph, output)) continue;
    loss = &output;
    losses.push_back("'" + output.name + "'");
  }
  if (losses.empty()) {
    fail_usage(
        "the model returns no loss, a floating scalar, but {}; return one, or "
        "set model.loss = \"cross_entropy\" where it returns logits",
        all.empty() ? "nothing" : join(all, ", "));
  }
  if (losses.size() > 1) {
    fail_usage("the model returns {} floating scalars, {}; return one loss",
               losses.size(), join(losses, ", "));
  }
  return *loss;
}

}  // namespace

bool loss_to_sum_and_count(Graph& graph, const PassOptions& options) {
  if (graph.find_output("loss_sum") && graph.find_output("count")) return false;
  const Output loss = find_loss(graph);
  const std::vector<Output> before = graph.outputs();
  const SumAndCount made = LossRewriter(graph, options).rewrite(loss.value);
  std::vector<Output> outputs;
  for (const Output& output : before) {
    if (output.name == loss.name) {
      outputs.push_back({made.sum, "loss_sum"});
      outputs.push_back({made.count, "count"});
    } else if (!options.loss_only || is_buffer(output)) {
      outputs.push_back(output);
    }
  }
  graph.set_outputs(std::move(outputs));
  return true;
}

}  // namespace merak::passes
