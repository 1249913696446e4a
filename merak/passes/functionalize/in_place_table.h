// The operator without writes behind one that writes.
//
// ATen's names are a rule with few exceptions: add_.Tensor is add.Tensor with
// the same arguments, mm.out is mm without its last one. The exceptions are
// rows of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace merak::passes {

enum class PureKind : std::uint8_t {
  kOperator,   // `op` on the same arguments, less those that are `out`
  kBroadcast,  // argument 1, brought to the type of argument 0 (copy_)
  kFull,       // argument 1 everywhere (fill_)
  kZeros,
  kView,     // argument 0 looks at its memory through `op` from now on (t_)
  kNothing,  // no element changes (requires_grad_)
};

struct PureForm {
  PureKind kind = PureKind::kOperator;
  std::string op = {};  // of kOperator and kView
};

// Nothing for operators that have none that we know (resize_, _foreach_add_).
std::optional<PureForm> pure_form(std::string_view op);

}  // namespace merak::passes
