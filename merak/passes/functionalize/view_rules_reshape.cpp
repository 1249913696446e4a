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

MaybeStep expand(const ViewCall& call) {
  if (call.viewed.numel() == call.result.numel()) return reshape(call);
  return ViewStep{.kind = ViewKind::kExpand};
}

// Gives back its argument where there is nothing to do.
template <MaybeStep (*kRule)(const ViewCall&)>
MaybeStep self_or(const ViewCall& call) {
  if (call.viewed.shape != call.result.shape) return kRule(call);
  return ViewStep{.kind = ViewKind::kSelf};
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
    {"atleast_1d", self_or<reshape_or_copy>},
    {"atleast_2d", self_or<reshape_or_copy>},
    {"atleast_3d", self_or<reshape_or_copy>},
    {"reshape", reshape_or_copy},
    {"reshape_as", reshape_or_copy},
    {"flatten", self_or<reshape_or_copy>},
    {"ravel", reshape_or_copy},
    {"expand", expand},
    {"expand_as", expand},
    {"broadcast_to", expand},
    {"broadcast_tensors", self_or<expand>},
    {"as_strided", opaque},
    {"unfold", opaque},
    {"meshgrid", opaque},
    {"einsum", opaque},
};

}  // namespace

std::span<const ViewRule> reshape_rules() { return kRules; }

}  // namespace merak::passes
