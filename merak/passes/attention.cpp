#include "merak/passes/attention.h"

#include <cmath>
#include <limits>
#include <utility>

#include "merak/graph/arguments.h"

namespace merak::passes {
namespace {

using graph::Attribute;
using graph::kNoValue;
using graph::Node;
using graph::Rewriter;
using graph::Shape;
using graph::tensor_argument;
using graph::TensorType;
using graph::ValueId;

Attribute integer(std::int64_t value) { return {value}; }

class Decomposition {
 public:
  Decomposition(Rewriter& rewriter, const Node& node)
      : rewriter_(rewriter),
        node_(node),
        query_(source_type(0)),
        key_(source_type(1)),
        result_(rewriter.source().value(node.results[0]).type) {
    result_.strides.clear();
  }

  void run(const std::function<ValueId(ValueId)>& dropout) {
    const ValueId weights = dropout(softmax(masked(scores())));
    const ValueId mixed = add("aten.matmul", {weights, repeated(2)},
                              result_.dtype, result_.shape);
    rewriter_.map(node_.results[0], mixed);
  }

 private:
  const TensorType& source_type(std::size_t position) const {
    return rewriter_.source().value(tensor_argument(node_, position)).type;
  }
  ValueId operand(std::size_t position) const {
    return rewriter_.at(tensor_argument(node_, position));
  }
  ValueId add(const char* op, std::vector<graph::Argument> arguments,
              DType dtype, Shape shape) {
    return rewriter_.add(node_, op, std::move(arguments),
                         TensorType{dtype, std::move(shape), {}});
  }
  bool has_mask() const { return tensor_argument(node_, 3) != kNoValue; }

  // Keys (1) or values (2), a head for each head of the queries.
  ValueId repeated(std::size_t position) {
    Shape shape = source_type(position).shape;
    const std::size_t rank = shape.size();
    const bool grouped = graph::bool_argument(node_, 7, false) && rank >= 3 &&
                         shape[rank - 3] != query_.shape[rank - 3];
    if (!grouped) return operand(position);
    const std::int64_t times = query_.shape[rank - 3] / shape[rank - 3];
    shape[rank - 3] *= times;
    return add("aten.repeat_interleave.self_int",
               {operand(position), integer(times), integer(-3), Attribute{}},
               query_.dtype, shape);
  }

  // The query is scaled and not the scores: they might overflow in fp16.
  ValueId scores() {
    const auto head = static_cast<double>(query_.shape.back());
    const double scale = graph::real_argument(node_, 6, 1 / std::sqrt(head));
    const ValueId scaled =
        add("aten.mul.Scalar", {operand(0), Attribute{scale}}, query_.dtype,
            query_.shape);
    const ValueId key = repeated(1);
    Shape turned = rewriter_.target().value(key).type.shape;
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    const ValueId columns =
        add("aten.transpose.int", {key, integer(-2), integer(-1)}, query_.dtype,
            turned);
    return add("aten.matmul", {scaled, columns}, query_.dtype, score_shape());
  }

  Shape score_shape() const {
    Shape shape = result_.shape;
    shape.back() = key_.shape[key_.shape.size() - 2];
    return shape;
  }

  ValueId hide(ValueId scores, ValueId hidden) {
    return add(
        "aten.masked_fill.Scalar",
        {scores, hidden, Attribute{-std::numeric_limits<double>::infinity()}},
        query_.dtype, score_shape());
  }

  ValueId masked(ValueId scores) {
    if (graph::bool_argument(node_, 5, false)) {
      const Shape full = score_shape();
      const Shape square(full.end() - 2, full.end());
      const ValueId ones = add("aten.ones",
                               {Attribute{square}, Attribute{DType::kBool},
                                Attribute{}, Attribute{}, Attribute{}},
                               DType::kBool, square);
      scores = hide(scores,
                    add("aten.triu", {ones, integer(1)}, DType::kBool, square));
    }
    if (!has_mask()) return scores;
    const TensorType& mask = source_type(3);
    if (mask.dtype == DType::kBool) {
      return hide(scores, add("aten.logical_not", {operand(3)}, DType::kBool,
                              mask.shape));
    }
    return add("aten.add.Tensor", {scores, operand(3), integer(1)},
               query_.dtype, score_shape());
  }

  // A causal row sees at least itself; a row under a mask may see nothing.
  ValueId softmax(ValueId scores) {
    return add(has_mask() ? "aten._safe_softmax" : "aten.softmax.int",
               {scores, integer(-1), Attribute{}}, query_.dtype, score_shape());
  }

  Rewriter& rewriter_;
  const Node& node_;
  const TensorType query_;
  const TensorType key_;
  TensorType result_;
};

}  // namespace

void decompose_attention(Rewriter& rewriter, const Node& node,
                         const std::function<ValueId(ValueId)>& dropout) {
  Decomposition(rewriter, node).run(dropout);
}

}  // namespace merak::passes
