#include "merak/passes/functionalize/layout.h"
#include "merak/passes/functionalize/view_rules.h"

namespace merak::passes {
namespace {

MaybeStep reshape(const ViewCall& call) {
  if (call.viewed.dtype != call.result.dtype) {  // view.dtype
    return ViewStep{.kind = ViewKind::kOpaque};
  }
  if (call.viewed.shape == call.result.shape) return ViewStep{};
  return ViewStep{.kind = ViewKind::kReshape};
}

MaybeStep reshape_or_copy(const ViewCall& call) {
  const bool shares = reshaped_strides(call.viewed.shape, call.viewed.strides,
                                       call.result.shape)
                          .has_value();
  return shares ? reshape(call) : std::nullopt;
}

// These give back their argument where there is nothing to do.
MaybeStep reshape_if_needed(const ViewCall& call) {
  if (call.viewed.shape == call.result.shape) {
    return ViewStep{.kind = ViewKind::kSelf};
  }
  return reshape_or_copy(call);
}

MaybeStep expand(const ViewCall& call) {
  if (call.viewed.numel() == call.result.numel()) return reshape(call);
  return ViewStep{.kind = ViewKind::kExpand};
}

MaybeStep expand_if_needed(const ViewCall& call) {
  if (call.viewed.shape == call.result.shape) {
    return ViewStep{.kind = ViewKind::kSelf};
  }
  return expand(call);
}

MaybeStep opaque(const ViewCall&) {
  return ViewStep{.kind = ViewKind::kOpaque};
}

constexpr ViewRule kRules[] = {
    {"view", reshape},
    {"view_as", reshape},
    {"_unsafe_view", reshape},
    {"_reshape_alias", reshape},
    {"unsqueeze", reshape},
    {"squeeze", reshape},
    {"unflatten", reshape},
    {"atleast_1d", reshape_if_needed},
    {"atleast_2d", reshape_if_needed},
    {"atleast_3d", reshape_if_needed},
    {"reshape", reshape_or_copy},
    {"reshape_as", reshape_or_copy},
    {"flatten", reshape_if_needed},
    {"ravel", reshape_or_copy},
    {"expand", expand},
    {"expand_as", expand},
    {"broadcast_to", expand},
    {"broadcast_tensors", expand_if_needed},
    {"as_strided", opaque},
    {"unfold", opaque},
    {"meshgrid", opaque},
    {"einsum", opaque},
};

}  // namespace

std::span<const ViewRule> reshape_rules() { return kRules; }

}  // namespace merak::passes
