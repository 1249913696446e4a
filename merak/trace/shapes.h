// What an operator returns for proxies: the shapes, strides and dtypes that the
// device's own kernel would give.
//
// Most come from running the operator on meta tensors. LibTorch without Python
// lacks the meta kernels of some operators; those have a rule in the table of
// shape_rules.cpp. Operators that only look at metadata (the choice of an
// attention kernel) run as they are; operators that read values cannot be
// captured, and say so.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace merak::trace {

// Replaces the arguments on top of `stack` by results without data. Usage
// error for an operator that reads values or has no rule.
void infer_results(const c10::OperatorHandle& op,
                   std::vector<c10::IValue>& stack);

// True for an operator whose results are not tensors and that was answered
// from metadata: nothing to record.
bool is_metadata_query(const c10::OperatorHandle& op);

// True for an operator that returns values of tensors as plain numbers.
bool reads_values(const c10::OperatorHandle& op);

using ShapeRule = std::function<void(std::span<const c10::IValue> arguments,
                                     std::vector<c10::IValue>& results)>;

// The rule for "aten.embedding", or null.
const ShapeRule* find_shape_rule(const std::string& op);

}  // namespace merak::trace
