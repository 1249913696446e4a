#include "merak/passes/functionalize/alias_classes.h"

#include <algorithm>
#include <utility>

#include "merak/base/error.h"
#include "merak/passes/functionalize/messages.h"
#include "merak/passes/functionalize/view_inverse.h"

namespace merak::passes {
namespace {

using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;

// No write yet is 0.
constexpr int kNeverRead = -1;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

AliasClasses::AliasClasses(graph::Rewriter& rewriter)
    : rewriter_(rewriter),
      tensor_of_(rewriter.source().values().size(), kNoTensor) {
  const graph::Graph& source = rewriter.source();
  for (const graph::Input& input : source.inputs()) {
    const TensorType& type = source.value(input.value).type;
    AliasedTensor tensor;
    tensor.type = type;
    tensor.strides = with_strides(type).strides;
    tensor.value = rewriter.at(input.value);
    identify(input.value, add(std::move(tensor)));
  }
}

TensorId AliasClasses::add(AliasedTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return tensors_.size() - 1;
}

TensorId AliasClasses::add_view(TensorId viewed, ViewStep step, NodeId maker,
                                TensorType type) {
  Strides strides = with_strides(type, step, laid_out(viewed)).strides;
  return add({.viewed = viewed,
              .step = std::move(step),
              .maker = maker,
              .type = std::move(type),
              .strides = std::move(strides),
              .writes = kNeverRead});
}

TensorType AliasClasses::laid_out(TensorId id) const {
  TensorType type = tensors_[id].type;
  type.strides = tensors_[id].strides;
  return type;
}

void AliasClasses::add_result(NodeId id, std::size_t result, ValueId value) {
  const graph::Graph& source = rewriter_.source();
  const Node& node = source.node(id);
  const TensorType& type = source.value(node.results[result]).type;
  const ValueId argument = viewed_value(node, result);
  std::optional<ViewStep> step;
  TensorId viewed = kNoTensor;
  if (argument != kNoValue) {
    viewed = tensor_of(argument);
    step = view_step(source, node, result, laid_out(viewed));
  }
  if (step && step->kind == ViewKind::kSelf) {
    // Reading through the operator keeps the layout that it promises; where
    // gradients are off it would cut them, which the same tensor does not.
    if (node.grad_enabled) tensors_[viewed].value = value;
    identify(node.results[result], viewed);
    return;
  }
  const TensorId made = step ? add_view(viewed, std::move(*step), id, type)
                             : add({.maker = id,
                                    .type = type,
                                    .strides = with_strides(type).strides});
  tensors_[made].value = value;
  tensors_[made].writes = tensors_[memory_of(made)].writes;
  identify(node.results[result], made);
}

TensorId AliasClasses::tensor_of(ValueId source_value) const {
  return tensor_of_.at(index(source_value));
}

TensorId AliasClasses::memory_of(TensorId id) const {
  while (tensors_[id].viewed != kNoTensor) id = tensors_[id].viewed;
  return id;
}

const Node& AliasClasses::maker_of(TensorId id) const {
  return rewriter_.source().node(tensors_[id].maker);
}

// Inputs were added first, in their order.
const graph::Input* AliasClasses::input_of(TensorId id) const {
  const auto& inputs = rewriter_.source().inputs();
  return id < inputs.size() ? &inputs[id] : nullptr;
}

void AliasClasses::identify(ValueId source_value, TensorId id) {
  tensor_of_.at(index(source_value)) = id;
}

void AliasClasses::look_differently(TensorId id, NodeId node_id,
                                    const std::string& op) {
  const graph::Graph& source = rewriter_.source();
  Node node = source.node(node_id);
  node.op = op;
  auto step = view_step(source, node, 0, laid_out(id));
  MERAK_CHECK(step.has_value(), "{} is no view", op);
  const TensorId view = add_view(id, std::move(*step), node_id,
                                 source.value(node.results[0]).type);
  std::replace(tensor_of_.begin(), tensor_of_.end(), id, view);
  identify(node.results[0], view);
}

ValueId AliasClasses::read(TensorId id) {
  const int writes = tensors_[memory_of(id)].writes;
  if (tensors_[id].writes == writes) return tensors_[id].value;
  const Node& maker = maker_of(id);
  if (tensors_[id].step.kind == ViewKind::kOpaque) {
    fail_usage(
        "{} looks at memory that is written to before its result is read "
        "again: views other than selecting, slicing, permuting, reshaping and "
        "expanding cannot be followed; clone the tensor first",
        name_of_node(maker));
  }
  const ValueId viewed = read(tensors_[id].viewed);
  AliasedTensor& tensor = tensors_[id];
  tensor.value = look(rewriter_, maker, tensor.step, viewed, tensor.type);
  tensor.writes = writes;
  return tensor.value;
}

void AliasClasses::write(TensorId id, ValueId value, NodeId writer) {
  const Node& like = rewriter_.source().node(writer);
  const int writes = tensors_[memory_of(id)].writes + 1;
  while (tensors_[id].viewed != kNoTensor) {
    const TensorId viewed = tensors_[id].viewed;
    const ViewStep step = tensors_[id].step;
    // As it was before this write: its memory comes last.
    const ValueId before = is_part(step.kind) ? read(viewed) : kNoValue;
    tensors_[id].value = value;
    tensors_[id].writes = writes;
    value =
        put_back(rewriter_, like, step, before, value, tensors_[viewed].type);
    id = viewed;
  }
  tensors_[id].value = value;
  tensors_[id].writes = writes;
}

}  // namespace merak::passes
