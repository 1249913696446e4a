#include "merak/graph/testing/gpt2_graph.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace merak::graph::testing {
namespace {

Attribute integer(std::int64_t value) { return {value}; }
Attribute integers(Shape values) { return {std::move(values)}; }

class Gpt2 {
 public:
  explicit Gpt2(const Gpt2Options& options) : o_(options), graph_("model") {}

  Graph build() {
    const ValueId ids = user("input_ids");
    const ValueId labels = user("labels");
    if (o_.mask) {
      mask_ = graph_.add_input(
          InputKind::kUser, "attention_mask",
          {DType::kBool, {o_.batch, 1, o_.sequence, o_.sequence}, {}});
    }
    ValueId hidden = embed(ids);
    for (int i = 0; i < o_.layers; ++i) {
      hidden = block(hidden, fmt::format("transformer.h.{}", i));
    }
    finish(layer_norm(hidden, "transformer.ln_f"), labels);
    return std::move(graph_);
  }

 private:
  ValueId user(const char* name) {
    return graph_.add_input(InputKind::kUser, name,
                            {DType::kI64, {o_.batch, o_.sequence}, {}});
  }
  ValueId parameter(const std::string& name, Shape shape) {
    return graph_.add_input(InputKind::kParameter, name,
                            {DType::kF32, std::move(shape), {}});
  }
  ValueId add(const char* op, std::vector<Argument> arguments, Shape shape,
              const std::string& module, DType dtype = DType::kF32) {
    const NodeId id =
        graph_.add_node(op, std::move(arguments),
                        {TensorType{dtype, std::move(shape), {}}}, module);
    return graph_.node(id).results[0];
  }
  Shape activations() const { return {o_.batch, o_.sequence, o_.hidden}; }

  // The order of Hugging Face: positions first, then both look-ups.
  ValueId embed(ValueId ids) {
    wte_ = parameter("transformer.wte.weight", {o_.vocabulary, o_.hidden});
    const ValueId wpe =
        parameter("transformer.wpe.weight", {o_.positions, o_.hidden});
    const ValueId range = add("aten.arange", {integer(o_.sequence)},
                              {o_.sequence}, "transformer", DType::kI64);
    const ValueId positions = add("aten.unsqueeze", {range, integer(0)},
                                  {1, o_.sequence}, "transformer", DType::kI64);
    const ValueId tokens =
        add("aten.embedding",
            {wte_, ids, integer(-1), Attribute{false}, Attribute{false}},
            activations(), "transformer.wte");
    const ValueId places =
        add("aten.embedding",
            {wpe, positions, integer(-1), Attribute{false}, Attribute{false}},
            {1, o_.sequence, o_.hidden}, "transformer.wpe");
    const ValueId sum = add("aten.add.Tensor", {tokens, places, integer(1)},
                            activations(), "transformer");
    return dropout(sum, "transformer.drop");
  }

  ValueId dropout(ValueId x, const std::string& module) {
    if (o_.dropout == 0) return x;
    return add("aten.dropout", {x, Attribute{o_.dropout}, Attribute{true}},
               graph_.value(x).type.shape, module);
  }

  ValueId layer_norm(ValueId x, const std::string& module) {
    const ValueId weight = parameter(module + ".weight", {o_.hidden});
    const ValueId bias = parameter(module + ".bias", {o_.hidden});
    return add("aten.layer_norm",
               {x, integers({o_.hidden}), weight, bias, Attribute{1e-5},
                Attribute{true}},
               activations(), module);
  }

  ValueId linear(ValueId x, std::int64_t out, const std::string& module) {
    Shape shape = graph_.value(x).type.shape;
    const std::int64_t in = shape.back();
    shape.back() = out;
    if (!o_.addmm) {
      const ValueId weight = parameter(module + ".weight", {out, in});
      const ValueId bias = parameter(module + ".bias", {out});
      return add("aten.linear", {x, weight, bias}, shape, module);
    }
    const ValueId weight = parameter(module + ".weight", {in, out});
    const ValueId bias = parameter(module + ".bias", {out});
    const std::int64_t rows = o_.batch * o_.sequence;
    const ValueId flat =
        add("aten.view", {x, integers({-1, in})}, {rows, in}, module);
    const ValueId product =
        add("aten.addmm", {bias, flat, weight, integer(1), integer(1)},
            {rows, out}, module);
    return add("aten.view", {product, integers(shape)}, shape, module);
  }

  ValueId heads(ValueId x, const std::string& module) {
    const Shape split = {o_.batch, o_.sequence, o_.heads, o_.hidden / o_.heads};
    const ValueId view = add("aten.view", {x, integers(split)}, split, module);
    return add("aten.transpose.int", {view, integer(1), integer(2)},
               {split[0], split[2], split[1], split[3]}, module);
  }

  ValueId attention(ValueId x, const std::string& module) {
    const ValueId qkv = linear(x, 3 * o_.hidden, module + ".c_attn");
    const TensorType part{DType::kF32, activations(), {}};
    const NodeId split = graph_.add_node("aten.split.Tensor",
                                         {qkv, integer(o_.hidden), integer(2)},
                                         {part, part, part}, module);
    std::vector<ValueId> parts = graph_.node(split).results;
    for (ValueId& one : parts) one = heads(one, module);
    Argument mask = Attribute{};
    if (mask_ != kNoValue) mask = mask_;
    const ValueId mixed =
        add("aten.scaled_dot_product_attention",
            {parts[0], parts[1], parts[2], mask, Attribute{o_.dropout},
             Attribute{mask_ == kNoValue}, Attribute{}, Attribute{false}},
            graph_.value(parts[0]).type.shape, module);
    const ValueId back =
        add("aten.transpose.int", {mixed, integer(1), integer(2)},
            {o_.batch, o_.sequence, o_.heads, o_.hidden / o_.heads}, module);
    const ValueId joined = add("aten.reshape", {back, integers(activations())},
                               activations(), module);
    return dropout(linear(joined, o_.hidden, module + ".c_proj"),
                   module + ".resid_dropout");
  }

  ValueId mlp(ValueId x, const std::string& module) {
    const ValueId wide = linear(x, 4 * o_.hidden, module + ".c_fc");
    const ValueId active =
        add("aten.gelu", {wide, Attribute{std::string("tanh")}},
            graph_.value(wide).type.shape, module + ".act");
    return dropout(linear(active, o_.hidden, module + ".c_proj"),
                   module + ".dropout");
  }

  ValueId block(ValueId x, const std::string& module) {
    const ValueId mixed =
        attention(layer_norm(x, module + ".ln_1"), module + ".attn");
    const ValueId middle =
        add("aten.add.Tensor", {mixed, x, integer(1)}, activations(), module);
    const ValueId wide =
        mlp(layer_norm(middle, module + ".ln_2"), module + ".mlp");
    return add("aten.add.Tensor", {middle, wide, integer(1)}, activations(),
               module);
  }

  void finish(ValueId hidden, ValueId labels) {
    const ValueId head =
        o_.tied ? wte_
                : parameter("lm_head.weight", {o_.vocabulary, o_.hidden});
    const ValueId logits =
        add("aten.linear", {hidden, head, Attribute{}},
            {o_.batch, o_.sequence, o_.vocabulary}, "lm_head");
    if (!o_.loss) return graph_.add_output(logits, "logits");
    const std::int64_t rows = o_.batch * o_.sequence;
    const ValueId flat =
        add("aten.view", {logits, integers({-1, o_.vocabulary})},
            {rows, o_.vocabulary}, "");
    const ValueId targets =
        add("aten.view", {labels, integers({-1})}, {rows}, "", DType::kI64);
    graph_.add_output(add("aten.cross_entropy_loss",
                          {flat, targets, Attribute{}, integer(1),
                           integer(-100), Attribute{0.0}},
                          {}, ""),
                      "loss");
  }

  const Gpt2Options& o_;
  Graph graph_;
  ValueId wte_ = kNoValue;
  ValueId mask_ = kNoValue;
};

}  // namespace

Graph gpt2_graph(const Gpt2Options& options) { return Gpt2(options).build(); }

std::int64_t gpt2_parameters(const Gpt2Options& options) {
  const std::int64_t h = options.hidden;
  const std::int64_t tables =
      (options.vocabulary * (options.tied ? 1 : 2) + options.positions) * h;
  return tables + options.layers * (12 * h * h + 13 * h) + 2 * h;
}

}  // namespace merak::graph::testing
