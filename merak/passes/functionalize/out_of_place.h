// What an operator that writes would have written, as a value of its own.
#pragma once

#include <vector>

#include "merak/passes/functionalize/alias_classes.h"
#include "merak/passes/functionalize/in_place_table.h"

namespace merak::passes {

// Of an operator in place on `written`. Not for kView and kNothing.
graph::ValueId value_in_place(graph::Rewriter& rewriter, AliasClasses& classes,
                              graph::NodeId node, const PureForm& form,
                              TensorId written);

// Of an operator whose last arguments are the tensors `written`, one value
// each, in order.
std::vector<graph::ValueId> values_of_out(graph::Rewriter& rewriter,
                                          AliasClasses& classes,
                                          graph::NodeId node,
                                          const PureForm& form,
                                          const std::vector<TensorId>& written);

}  // namespace merak::passes
