#include "merak/passes/lower_dropout.h"

#include <algorithm>

#include "merak/graph/arguments.h"
#include "merak/graph/rewriter.h"
#include "merak/passes/attention.h"

namespace merak::passes {
namespace {

using graph::Attribute;
using graph::Graph;
using graph::int_argument;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::real_argument;
using graph::Shape;
using graph::tensor_argument;
using graph::TensorType;
using graph::ValueId;

constexpr const char* kRandomInput = "random";

enum class Kind { kOther, kElements, kChannels, kAttention };

Kind kind_of(const Node& node) {
  if (node.op == "aten.dropout") return Kind::kElements;
  if (node.op == "aten.feature_dropout") return Kind::kChannels;
  if (node.op == "aten.scaled_dot_product_attention" &&
      real_argument(node, 4, 0.0) > 0) {
    return Kind::kAttention;
  }
  return Kind::kOther;
}

class DropoutLowering {
 public:
  explicit DropoutLowering(const Graph& graph)
      : rewriter_(graph), site_(first_free_site(graph)) {}

  Graph run() {
    const Graph& graph = rewriter_.source();
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      switch (kind_of(node)) {
        case Kind::kOther:
          rewriter_.copy(static_cast<NodeId>(i));
          break;
        case Kind::kElements:
        case Kind::kChannels:
          lower(node);
          break;
        case Kind::kAttention:
          decompose_attention(rewriter_, node, [&](ValueId weights) {
            return dropout(node, weights, real_argument(node, 4, 0.0));
          });
          break;
      }
    }
    return rewriter_.finish();
  }

 private:
  static std::int64_t first_free_site(const Graph& graph) {
    std::int64_t site = 0;
    for (const Node& node : graph.nodes()) {
      if (node.op != "merak.dropout") continue;
      site = std::max(site, int_argument(node, 3, 0) + 1);
    }
    return site;
  }

  ValueId random_key() {
    if (key_ != kNoValue) return key_;
    const graph::Input* input =
        rewriter_.target().find_input(graph::InputKind::kRandom, kRandomInput);
    key_ = input ? input->value
                 : rewriter_.target().add_input(graph::InputKind::kRandom,
                                                kRandomInput,
                                                {DType::kI64, {4}, {}});
    return key_;
  }

  TensorType type_of(ValueId target_value) {
    TensorType type = rewriter_.target().value(target_value).type;
    type.strides.clear();
    return type;
  }

  ValueId dropout(const Node& like, ValueId x, double rate) {
    if (rate >= 1) {
      return rewriter_.add(like, "aten.mul.Scalar", {x, Attribute{0.0}},
                           type_of(x));
    }
    return rewriter_.add(like, "merak.dropout",
                         {x, random_key(), Attribute{rate}, Attribute{site_++}},
                         type_of(x));
  }

  void lower(const Node& node) {
    const ValueId x = rewriter_.at(tensor_argument(node, 0));
    const double rate = real_argument(node, 1, 0.0);
    ValueId result = x;
    if (rate > 0 && graph::bool_argument(node, 2, false)) {
      result = kind_of(node) == Kind::kElements ? dropout(node, x, rate)
                                                : drop_channels(node, x, rate);
    }
    rewriter_.map(node.results[0], result);
  }

  ValueId drop_channels(const Node& node, ValueId x, double rate) {
    const TensorType type = type_of(x);
    TensorType mask{type.dtype, type.shape, {}};
    for (std::size_t dim = 2; dim < mask.shape.size(); ++dim) {
      mask.shape[dim] = 1;
    }
    const ValueId ones =
        rewriter_.add(node, "aten.ones",
                      {Attribute{mask.shape}, Attribute{mask.dtype},
                       Attribute{}, Attribute{}, Attribute{}},
                      mask);
    return rewriter_.add(node, "aten.mul.Tensor",
                         {x, dropout(node, ones, rate)}, type);
  }

  graph::Rewriter rewriter_;
  ValueId key_ = kNoValue;
  std::int64_t site_ = 0;
};

}  // namespace

bool lower_dropout(Graph& graph, const PassOptions&) {
  const bool any = std::any_of(
      graph.nodes().begin(), graph.nodes().end(),
      [](const Node& node) { return kind_of(node) != Kind::kOther; });
  if (any) graph = DropoutLowering(graph).run();
  return any;
}

}  // namespace merak::passes
