// Which tensors a model may write to.
#pragma once

#include "merak/passes/functionalize/alias_classes.h"

namespace merak::passes {

// Usage error that names operator, module and tensor if `node` must not write:
// to a parameter or an input of the batch, through a view whose elements share
// memory, or behind autograd's back where gradients flow (under no_grad,
// through detach).
void check_write(const AliasClasses& classes, TensorId tensor,
                 const graph::Node& node, const graph::Graph& target);

// Usage error unless the tensor is one that the model made itself: for
// operators that change what it looks at.
void check_owned(const AliasClasses& classes, TensorId tensor,
                 const graph::Node& node);

}  // namespace merak::passes
