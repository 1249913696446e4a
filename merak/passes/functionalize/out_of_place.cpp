#include "merak/passes/functionalize/out_of_place.h"

#include <optional>
#include <utility>

#include "merak/graph/arguments.h"
#include "merak/passes/functionalize/result_dtype.h"

namespace merak::passes {
namespace {

using graph::Argument;
using graph::Attribute;
using graph::kNoValue;
using graph::Node;
using graph::Rewriter;
using graph::TensorType;
using graph::ValueId;

// Adds nodes that stand for one node of the source.
class Builder {
 public:
  Builder(Rewriter& rewriter, AliasClasses& classes, graph::NodeId id)
      : rewriter_(rewriter),
        classes_(classes),
        node_(rewriter.source().node(id)) {}

  ValueId in_place(const PureForm& form, TensorId written) {
    switch (form.kind) {
      case PureKind::kBroadcast:
        return broadcast(written);
      case PureKind::kFull:
        return full(written, argument(1));
      case PureKind::kZeros:
        return like(written, "aten.zeros_like", {});
      default:
        break;
    }
    return apply(form.op, node_.arguments.size(), {written})[0];
  }

  // `op` on the first `count` arguments; results become of the types of
  // `written`.
  std::vector<ValueId> apply(const std::string& op, std::size_t count,
                             const std::vector<TensorId>& written) {
    Node pure = node_;
    pure.arguments.resize(count);
    std::vector<TensorType> operands;
    map_operands(pure, [&](ValueId id) {
      const TensorId tensor = classes_.tensor_of(id);
      operands.push_back(type_of(tensor));
      return classes_.read(tensor);
    });
    std::vector<std::optional<TensorType>> types;
    for (TensorId tensor : written) types.emplace_back(type_of(tensor));
    if (written.size() == 1) {
      types[0]->dtype = result_dtype(op, operands, types[0]->dtype);
    }
    const graph::NodeId made = rewriter_.target().add_node(
        op, std::move(pure.arguments), types, node_.module, node_.grad_enabled);
    std::vector<ValueId> values = rewriter_.target().node(made).results;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = cast(values[i], types[i]->dtype, type_of(written[i]));
    }
    return values;
  }

 private:
  const TensorType& type_of(TensorId tensor) const {
    return classes_.tensor(tensor).type;
  }

  Argument argument(std::size_t position) const {
    return position < node_.arguments.size() ? node_.arguments[position]
                                             : Attribute{};
  }

  ValueId cast(ValueId value, DType from, TensorType type) {
    if (from == type.dtype) return value;
    const Attribute to{type.dtype};
    return rewriter_.add(node_, "aten._to_copy",
                         {value, to, Attribute{}, Attribute{}, Attribute{},
                          Attribute{false}, Attribute{}},
                         std::move(type));
  }

  // dtype, layout, device, pinning and memory format are those of `written`.
  ValueId like(TensorId written, const char* op, std::vector<Argument> rest) {
    std::vector<Argument> arguments{classes_.read(written)};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    for (int i = 0; i < 5; ++i) arguments.emplace_back(Attribute{});
    return rewriter_.add(node_, op, std::move(arguments), type_of(written));
  }

  ValueId full(TensorId written, Argument number) {
    return like(written, "aten.full_like", {std::move(number)});
  }

  ValueId broadcast(TensorId written) {
    const ValueId given = graph::tensor_argument(node_, 1);
    if (given == kNoValue) return full(written, argument(1));
    const TensorId from = classes_.tensor_of(given);
    const ValueId before = classes_.read(from);
    const TensorType& type = type_of(written);
    ValueId value = cast(before, type_of(from).dtype,
                         {type.dtype, type_of(from).shape, {}});
    if (type_of(from).shape != type.shape) {
      value = rewriter_.add(node_, "aten.expand",
                            {value, Attribute{type.shape}, Attribute{false}},
                            {type.dtype, type.shape, {}});
    }
    // A node under no_grad would not hand on gradients: nor must its absence.
    if (value != before || node_.grad_enabled) return value;
    return rewriter_.add(node_, "aten.detach", {value},
                         rewriter_.target().value(value).type);
  }

  Rewriter& rewriter_;
  AliasClasses& classes_;
  const Node& node_;
};

}  // namespace

ValueId value_in_place(Rewriter& rewriter, AliasClasses& classes,
                       graph::NodeId node, const PureForm& form,
                       TensorId written) {
  return Builder(rewriter, classes, node).in_place(form, written);
}

std::vector<ValueId> values_of_out(Rewriter& rewriter, AliasClasses& classes,
                                   graph::NodeId node, const PureForm& form,
                                   const std::vector<TensorId>& written) {
  const std::size_t arguments = rewriter.source().node(node).arguments.size();
  return Builder(rewriter, classes, node)
      .apply(form.op, arguments - written.size(), written);
}

}  // namespace merak::passes
