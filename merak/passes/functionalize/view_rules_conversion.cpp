#include <array>

#include "merak/passes/functionalize/layout.h"
#include "merak/passes/functionalize/op_name.h"
#include "merak/passes/functionalize/view_rules.h"

namespace merak::passes {
namespace {

MaybeStep alias(const ViewCall&) { return ViewStep{}; }
MaybeStep self(const ViewCall&) { return ViewStep{.kind = ViewKind::kSelf}; }
MaybeStep detach(const ViewCall&) {
  return ViewStep{.kind = ViewKind::kDetach};
}

// Else the operator copies.
MaybeStep self_if(bool gives_back) {
  return gives_back ? MaybeStep(ViewStep{.kind = ViewKind::kSelf})
                    : std::nullopt;
}

// The memory format of a copy is an integer: 0 contiguous, 1 as it is.
bool keeps_format(const ViewCall& call, std::size_t argument,
                  std::int64_t fallback) {
  const std::int64_t format =
      graph::int_argument(call.node, argument, fallback);
  if (format == 1) return true;
  if (format == 0) return is_contiguous(call.viewed.shape, call.viewed.strides);
  return with_strides(call.result).strides == call.viewed.strides;
}

MaybeStep contiguous(const ViewCall& call) {
  return self_if(keeps_format(call, 1, 0));
}

struct CopyArgument {
  std::string_view overload;
  std::size_t position;
};

// Of `to`; the memory format comes right behind.
constexpr std::array<CopyArgument, 7> kCopyArguments = {{
    {"dtype", 3},
    {"dtype_layout", 6},
    {"device", 4},
    {"other", 3},
    {"prim_Device", 4},
    {"prim_dtype", 3},
    {"prim_other", 2},
}};

// A graph is of one device: only another element type or memory format makes
// a copy, or the argument that asks for one.
MaybeStep convert(const ViewCall& call) {
  if (call.viewed.dtype != call.result.dtype) return std::nullopt;
  const std::string_view overload = split_name(call.node.op).overload;
  for (const CopyArgument& copy : kCopyArguments) {
    if (copy.overload != overload) continue;
    return self_if(!graph::bool_argument(call.node, copy.position, false) &&
                   keeps_format(call, copy.position + 1, 1));
  }
  return ViewStep{.kind = ViewKind::kSelf};
}

// Dropout that drops nothing gives back its argument.
MaybeStep dropout(const ViewCall& call) {
  return self_if(!graph::bool_argument(call.node, 2, false) ||
                 graph::real_argument(call.node, 1, 0.0) == 0);
}

constexpr ViewRule kRules[] = {
    {"alias", alias},
    {"positive", self},
    {"lift_fresh", self},
    {"resolve_conj", self},
    {"resolve_neg", self},
    {"conj", self},
    {"real", self},
    {"detach", detach},
    {"contiguous", contiguous},
    {"to", convert},
    {"type_as", convert},
    {"dropout", dropout},
    {"feature_dropout", dropout},
    {"alpha_dropout", dropout},
    {"feature_alpha_dropout", dropout},
};

}  // namespace

std::span<const ViewRule> conversion_rules() { return kRules; }

}  // namespace merak::passes
