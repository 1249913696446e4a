#include "merak/passes/functionalize/check_write.h"

#include "merak/base/error.h"
#include "merak/graph/gradient_flow.h"
#include "merak/passes/functionalize/messages.h"
#include "merak/passes/functionalize/view_inverse.h"

namespace merak::passes {
namespace {

using graph::InputKind;
using graph::Node;

[[noreturn]] void refuse_input(const graph::Input& input, const Node& node,
                               std::string_view how) {
  const std::string subject = name_of_node(node);
  if (input.kind == InputKind::kParameter) {
    fail_usage(
        "{} writes to parameter '{}'{}: parameters change by the optimizer "
        "only; compute a new tensor instead",
        subject, input.name, how);
  }
  fail_usage(
      "{} writes to the {} input '{}'{}: inputs must stay as they are; clone "
      "it first",
      subject, name_of(input.kind), input.name, how);
}

// Constants are made anew with every forward.
bool may_be_written(const graph::Input& input) {
  return input.kind == InputKind::kBuffer || input.kind == InputKind::kConstant;
}

void check_views(const AliasClasses& classes, TensorId tensor,
                 const Node& node) {
  for (TensorId id = tensor; classes.tensor(id).viewed != kNoTensor;
       id = classes.tensor(id).viewed) {
    const std::string_view why = why_not_writable(classes.tensor(id).step.kind);
    if (why.empty()) continue;
    fail_usage("{} writes to a tensor that is {}, by {}; clone it first",
               name_of_node(node), why, name_of_node(classes.maker_of(id)));
  }
}

bool is_behind_autograd(const AliasClasses& classes, TensorId tensor,
                        const Node& node) {
  if (!node.grad_enabled) return true;
  for (TensorId id = tensor; id != kNoTensor; id = classes.tensor(id).viewed) {
    if (classes.tensor(id).step.kind == ViewKind::kDetach) return true;
  }
  return false;
}

}  // namespace

void check_write(const AliasClasses& classes, TensorId tensor, const Node& node,
                 const graph::Graph& target) {
  const TensorId memory = classes.memory_of(tensor);
  const graph::Input* input = classes.input_of(memory);
  if (input && !may_be_written(*input)) {
    refuse_input(*input, node, tensor == memory ? "" : " through a view of it");
  }
  check_views(classes, tensor, node);
  if (!is_behind_autograd(classes, tensor, node)) return;
  const graph::ValueId value = classes.tensor(memory).value;
  if (!needs_gradient(target)[static_cast<std::size_t>(value)]) return;
  fail_usage(
      "{} writes to a tensor that gradients flow through, {}: its gradient "
      "would be that of the value before; write with gradients enabled, or to "
      "a clone",
      name_of_node(node),
      node.grad_enabled ? "through detach" : "under no_grad");
}

void check_owned(const AliasClasses& classes, TensorId tensor,
                 const Node& node) {
  if (const graph::Input* input = classes.input_of(tensor)) {
    fail_usage(
        "{} changes the shape of {} '{}' for good: use the operator that "
        "returns a view instead",
        name_of_node(node), name_of(input->kind), input->name);
  }
}

}  // namespace merak::passes
