#include "merak/passes/functionalize/view_inverse.h"

#include <utility>
#include <vector>

#include "merak/base/error.h"

namespace merak::passes {
namespace {

using graph::Argument;
using graph::Attribute;
using graph::Node;
using graph::Rewriter;
using graph::TensorType;
using graph::ValueId;

Attribute integer(std::int64_t value) { return {value}; }

// The arguments of slice and slice_scatter, select and select_scatter, ..,
// behind the tensors.
std::vector<Argument> place_of(const ViewStep& step) {
  switch (step.kind) {
    case ViewKind::kSelect:
      return {integer(step.dim), integer(step.start)};
    case ViewKind::kSlice:
      return {integer(step.dim), integer(step.start), integer(step.end),
              integer(step.step)};
    case ViewKind::kDiagonal:
      return {integer(step.list[0]), integer(step.list[1]),
              integer(step.list[2])};
    default:
      return {};
  }
}

std::vector<Argument> arguments(std::vector<Argument> tensors,
                                std::vector<Argument> rest) {
  tensors.insert(tensors.end(), rest.begin(), rest.end());
  return tensors;
}

std::vector<std::int64_t> inverse_order(
    const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return inverse;
}

}  // namespace

std::string_view why_not_writable(ViewKind kind) {
  if (kind == ViewKind::kExpand) return "expanded, so elements share memory";
  if (kind == ViewKind::kOpaque) return "a view that cannot be written through";
  return {};
}

bool is_part(ViewKind kind) {
  return kind == ViewKind::kSelect || kind == ViewKind::kSlice ||
         kind == ViewKind::kDiagonal;
}

ValueId look(Rewriter& rewriter, const Node& like, const ViewStep& step,
             ValueId viewed, TensorType type) {
  const auto add = [&](const char* op, std::vector<Argument> rest) {
    return rewriter.add(like, op, arguments({viewed}, std::move(rest)), type);
  };
  switch (step.kind) {
    case ViewKind::kSelf:
    case ViewKind::kSame:
      return viewed;
    case ViewKind::kDetach:
      return add("aten.detach", {});
    case ViewKind::kSelect:
      return add("aten.select.int", place_of(step));
    case ViewKind::kSlice:
      return add("aten.slice.Tensor", place_of(step));
    case ViewKind::kPermute:
      return add("aten.permute", {Attribute{step.list}});
    case ViewKind::kReshape:
      return add("aten.reshape", {Attribute{type.shape}});
    case ViewKind::kExpand:
      return add("aten.expand", {Attribute{type.shape}, Attribute{false}});
    case ViewKind::kDiagonal:
      return add("aten.diagonal", place_of(step));
    case ViewKind::kOpaque:
      break;
  }
  MERAK_CHECK(false, "an opaque view is looked through");
  return graph::kNoValue;
}

ValueId put_back(Rewriter& rewriter, const Node& like, const ViewStep& step,
                 ValueId viewed, ValueId part, TensorType type) {
  const auto scatter = [&](const char* op) {
    return rewriter.add(like, op, arguments({viewed, part}, place_of(step)),
                        type);
  };
  const auto whole = [&](const char* op, std::vector<std::int64_t> list) {
    return rewriter.add(like, op, {part, Attribute{std::move(list)}}, type);
  };
  switch (step.kind) {
    case ViewKind::kSelf:
    case ViewKind::kSame:
    case ViewKind::kDetach:
      return part;
    case ViewKind::kSelect:
      return scatter("aten.select_scatter");
    case ViewKind::kSlice:
      return scatter("aten.slice_scatter");
    case ViewKind::kDiagonal:
      return scatter("aten.diagonal_scatter");
    case ViewKind::kPermute:
      return whole("aten.permute", inverse_order(step.list));
    case ViewKind::kReshape:
      return whole("aten.reshape", type.shape);
    case ViewKind::kExpand:
    case ViewKind::kOpaque:
      break;
  }
  MERAK_CHECK(false, "a write goes through a view that overlaps");
  return graph::kNoValue;
}

}  // namespace merak::passes
