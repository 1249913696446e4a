#include "merak/passes/functionalize/testing/machine.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "merak/base/error.h"
#include "merak/graph/arguments.h"

namespace merak::passes::testing {
namespace {

using graph::Node;
using graph::Shape;
using graph::ValueId;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// One node's operands and attributes.
struct Call {
  const graph::Graph& graph;
  const Node& node;
  const std::map<ValueId, TensorPtr>& values;

  Tensor& tensor(std::size_t i) const {
    return *values.at(graph::tensor_argument(node, i));
  }
  std::int64_t integer(std::size_t i) const {
    return graph::int_argument(node, i, 0);
  }
  Place integers(std::size_t i) const { return graph::ints_argument(node, i); }
  std::size_t dim(std::size_t i) const {
    return index(graph::wrap_dim(integer(i), tensor(0).shape.size()));
  }
  const Shape& result_shape(std::size_t i = 0) const {
    return graph.value(node.results[i]).type.shape;
  }
};

using Results = std::vector<TensorPtr>;
using Rule = std::function<Results(const Call&)>;

TensorPtr wrap(Tensor tensor) {
  return std::make_shared<Tensor>(std::move(tensor));
}

TensorPtr self(const Call& call) {
  return call.values.at(graph::tensor_argument(call.node, 0));
}

// For operators that must not copy.
Tensor view(const Tensor& t, const Shape& shape) {
  MERAK_CHECK(t.has_strides_as(shape), "a view that would have to copy");
  return reshape(t, shape);
}

Numbers map_numbers(const Tensor& t,
                    const std::function<std::int64_t(std::int64_t)>& f) {
  Numbers numbers = t.numbers();
  for (std::int64_t& number : numbers) number = f(number);
  return numbers;
}

Numbers broadcast(const Tensor& t, const Shape& shape) {
  return expand(t, shape).numbers();
}

Numbers sum(const Call& call, const Shape& shape) {
  Numbers a = broadcast(call.tensor(0), shape);
  const Numbers b = broadcast(call.tensor(1), shape);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += call.integer(2) * b[i];
  return a;
}

Numbers masked(const Call& call) {
  Numbers numbers = call.tensor(0).numbers();
  const Numbers mask = call.tensor(1).numbers();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (mask[i] != 0) numbers[i] = call.integer(2);
  }
  return numbers;
}

Numbers negated(const Call& call) {
  return map_numbers(call.tensor(0), [](std::int64_t a) { return -a; });
}

Numbers scaled(const Call& call) {
  return map_numbers(call.tensor(0),
                     [&](std::int64_t a) { return a * call.integer(1); });
}

Numbers filled(const Call& call, std::int64_t number) {
  return map_numbers(call.tensor(0), [&](std::int64_t) { return number; });
}

Rule computes(std::function<Numbers(const Call&)> f) {
  return [f = std::move(f)](const Call& call) {
    return Results{wrap(Tensor::make(call.result_shape(), f(call)))};
  };
}

Rule writes(std::function<Numbers(const Call&)> f) {
  return [f = std::move(f)](const Call& call) {
    call.tensor(0).assign(f(call));
    return Results{self(call)};
  };
}

Rule shows(std::function<Tensor(const Call&)> f) {
  return
      [f = std::move(f)](const Call& call) { return Results{wrap(f(call))}; };
}

// The tensor itself looks differently.
Rule turns(std::function<Tensor(const Call&)> f) {
  return [f = std::move(f)](const Call& call) {
    call.tensor(0) = f(call);
    return Results{self(call)};
  };
}

// A copy of argument 0 with argument 1 where the view shows.
Rule scatters(std::function<Tensor(const Call&, const Tensor&)> f) {
  return [f = std::move(f)](const Call& call) {
    Tensor whole = copy_of(call.tensor(0));
    Tensor part = f(call, whole);
    part.assign(call.tensor(1).numbers());
    return Results{wrap(std::move(whole))};
  };
}

Results split(const Call& call) {
  Results pieces;
  std::int64_t start = 0;
  const std::size_t dim = call.dim(2);
  for (std::size_t i = 0; i < call.node.results.size(); ++i) {
    const std::int64_t end = start + call.result_shape(i)[dim];
    pieces.push_back(wrap(slice(call.tensor(0), dim, start, end, 1)));
    start = end;
  }
  return pieces;
}

Results unbind(const Call& call) {
  Results pieces;
  for (std::size_t i = 0; i < call.node.results.size(); ++i) {
    pieces.push_back(wrap(
        select(call.tensor(0), call.dim(1), static_cast<std::int64_t>(i))));
  }
  return pieces;
}

Results contiguous(const Call& call) {
  if (call.tensor(0).is_contiguous()) return {self(call)};
  return {wrap(copy_of(call.tensor(0)))};
}

Results add_out(const Call& call) {
  Tensor& out = call.tensor(3);
  out.assign(sum(call, out.shape));
  return {call.values.at(graph::tensor_argument(call.node, 3))};
}

const Rule& rule_of(const std::string& op) {
  const auto as_result = [](const Call& call) {
    return view(call.tensor(0), call.result_shape());
  };
  const auto swapped = [](const Call& c) {
    return transpose(c.tensor(0), c.dim(1), c.dim(2));
  };
  static const std::unordered_map<std::string, Rule> kRules = {
      {"aten.neg", computes(negated)},
      {"aten.neg_", writes(negated)},
      {"aten.mul.Scalar", computes(scaled)},
      {"aten.mul_.Scalar", writes(scaled)},
      {"aten.add.Tensor",
       computes([](const Call& c) { return sum(c, c.result_shape()); })},
      {"aten.add_.Tensor",
       writes([](const Call& c) { return sum(c, c.tensor(0).shape); })},
      {"aten.add.out", add_out},
      {"aten.masked_fill.Scalar", computes(masked)},
      {"aten.masked_fill_.Scalar", writes(masked)},
      {"aten.gt.Scalar", computes([](const Call& c) {
         return map_numbers(c.tensor(0),
                            [&](std::int64_t a) { return a > c.integer(1); });
       })},
      {"aten.copy_", writes([](const Call& c) {
         return broadcast(c.tensor(1), c.tensor(0).shape);
       })},
      {"aten.fill_.Scalar",
       writes([](const Call& c) { return filled(c, c.integer(1)); })},
      {"aten.full_like",
       computes([](const Call& c) { return filled(c, c.integer(1)); })},
      {"aten.zero_", writes([](const Call& c) { return filled(c, 0); })},
      {"aten.zeros_like", computes([](const Call& c) { return filled(c, 0); })},
      {"aten.clone",
       computes([](const Call& c) { return c.tensor(0).numbers(); })},
      {"aten.detach", shows([](const Call& c) { return c.tensor(0); })},
      {"aten.contiguous", contiguous},
      {"aten.view", shows(as_result)},
      {"aten.unsqueeze", shows(as_result)},
      {"aten.unsqueeze_", turns(as_result)},
      {"aten.squeeze.dim", shows(as_result)},
      {"aten.reshape", shows([](const Call& c) {
         return reshape(c.tensor(0), c.result_shape());
       })},
      {"aten.transpose.int", shows(swapped)},
      {"aten.transpose_", turns(swapped)},
      {"aten.permute", shows([](const Call& c) {
         return permute(c.tensor(0), c.integers(1));
       })},
      {"aten.expand", shows([](const Call& c) {
         return expand(c.tensor(0), c.result_shape());
       })},
      {"aten.select.int", shows([](const Call& c) {
         return select(c.tensor(0), c.dim(1), c.integer(2));
       })},
      {"aten.slice.Tensor", shows([](const Call& c) {
         return slice(c.tensor(0), c.dim(1), c.integer(2), c.integer(3),
                      c.integer(4));
       })},
      {"aten.diagonal", shows([](const Call& c) {
         return diagonal(c.tensor(0), c.integer(1));
       })},
      {"aten.split.Tensor", split},
      {"aten.unbind.int", unbind},
      {"aten.select_scatter", scatters([](const Call& c, const Tensor& whole) {
         return select(whole, c.dim(2), c.integer(3));
       })},
      {"aten.slice_scatter", scatters([](const Call& c, const Tensor& whole) {
         return slice(whole, c.dim(2), c.integer(3), c.integer(4),
                      c.integer(5));
       })},
      {"aten.diagonal_scatter",
       scatters([](const Call& c, const Tensor& whole) {
         return diagonal(whole, c.integer(2));
       })},
  };
  const auto found = kRules.find(op);
  MERAK_CHECK(found != kRules.end(), "the machine does not know {}", op);
  return found->second;
}

}  // namespace

void Machine::set(ValueId value, Tensor tensor) {
  values_[value] = wrap(std::move(tensor));
}

void Machine::run(const Node& node) {
  const Results results = rule_of(node.op)({graph_, node, values_});
  for (std::size_t i = 0; i < results.size(); ++i) {
    values_[node.results[i]] = share_ ? results[i] : wrap(copy_of(*results[i]));
  }
}

void Machine::run() {
  for (const Node& node : graph_.nodes()) run(node);
}

}  // namespace merak::passes::testing
