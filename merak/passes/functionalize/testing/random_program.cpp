#include "merak/passes/functionalize/testing/random_program.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "merak/passes/functionalize/testing/machine.h"

namespace merak::passes::testing {
namespace {

using graph::Argument;
using graph::Attribute;
using graph::InputKind;
using graph::Shape;
using graph::ValueId;

Attribute integer(std::int64_t value) { return {value}; }

// Runs what it writes as it goes, to know what a tensor looks like by now.
class Generator {
 public:
  explicit Generator(std::uint32_t seed)
      : random_(seed), machine_(program_.graph, /*share=*/true) {
    add_input(InputKind::kUser, "x", {2, 3, 2});
    add_input(InputKind::kBuffer, "state", {3, 2});
    add_input(InputKind::kConstant, "zeros", {4});
    for (ValueId input : values_) owners_.insert(machine_.at(input).get());
  }

  Program run(int nodes) {
    add_step(&Generator::clone);  // something to write to
    while (static_cast<int>(program_.graph.nodes().size()) < nodes) {
      add_step(kSteps[below(std::size(kSteps))]);
    }
    for (int i = 0; i < 5; ++i) {
      program_.graph.add_output(any(), "out" + std::to_string(i));
    }
    return std::move(program_);
  }

 private:
  using Step = void (Generator::*)();

  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  void add_step(Step step) { (this->*step)(); }

  void add_input(InputKind kind, const std::string& name, Shape shape) {
    Numbers numbers(static_cast<std::size_t>(
        graph::TensorType{DType::kI64, shape, {}}.numel()));
    for (auto& number : numbers) {
      number = static_cast<std::int64_t>(below(19)) - 9;
    }
    const Tensor tensor = Tensor::make(shape, std::move(numbers));
    program_.inputs[name] = copy_of(tensor);
    const ValueId id = program_.graph.add_input(
        kind, name, {DType::kI64, std::move(shape), {}}, false);
    machine_.set(id, tensor);
    values_.push_back(id);
    if (kind == InputKind::kUser) frozen_.insert(tensor.memory.get());
  }

  // Late values more often: chains of views get long.
  ValueId any() {
    const std::size_t from = one_in(2) ? 0 : values_.size() / 2;
    return values_[from + below(values_.size() - from)];
  }

  const Tensor& tensor(ValueId id) { return *machine_.at(id); }
  const Shape& shape(ValueId id) { return machine_.at(id)->shape; }
  std::size_t rank(ValueId id) { return shape(id).size(); }

  ValueId any_with_dims() {
    while (true) {
      const ValueId id = any();
      if (rank(id) > 0) return id;
    }
  }

  ValueId any_writable() {
    while (true) {
      const ValueId id = any();
      if (!frozen_.contains(tensor(id).memory.get()) && !expanded_.contains(id))
        return id;
    }
  }

  // One that can be broadcast to the shape of another.
  ValueId any_that_fits(ValueId other) {
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId id = any();
      const Shape& from = shape(id);
      const Shape& to = shape(other);
      const bool fits =
          from.size() <= to.size() &&
          std::equal(from.rbegin(), from.rend(), to.rbegin(),
                     [](auto a, auto b) { return a == b || a == 1; });
      if (fits) return id;
    }
    return other;
  }

  ValueId emit(const std::string& op, std::vector<Argument> arguments,
               std::vector<Shape> shapes, DType dtype = DType::kI64) {
    const ValueId source = std::get<ValueId>(arguments[0]);
    std::vector<std::optional<graph::TensorType>> types;
    for (Shape& result : shapes) {
      types.emplace_back(graph::TensorType{dtype, std::move(result), {}});
    }
    const auto id = program_.graph.add_node(op, std::move(arguments), types);
    const graph::Node& node = program_.graph.node(id);
    machine_.run(node);
    for (ValueId result : node.results) {
      if (dtype == DType::kI64) values_.push_back(result);
      const bool shares = tensor(result).memory == tensor(source).memory;
      const bool grows =
          op == "aten.expand" &&
          tensor(result).addresses.size() > tensor(source).addresses.size();
      if (shares && (grows || expanded_.contains(source))) {
        expanded_.insert(result);
      }
    }
    return node.results[0];
  }

  Argument dim_argument(ValueId of, std::size_t dim) {
    const auto d = static_cast<std::int64_t>(dim);
    return integer(one_in(2) ? d : d - static_cast<std::int64_t>(rank(of)));
  }

  // Views.

  void select() {
    const ValueId x = any_with_dims();
    const std::size_t dim = below(rank(x));
    Shape result = shape(x);
    const auto at =
        static_cast<std::int64_t>(below(static_cast<std::size_t>(result[dim])));
    const std::int64_t size = result[dim];
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(dim));
    emit("aten.select.int",
         {x, dim_argument(x, dim), integer(one_in(2) ? at : at - size)},
         {result});
  }

  void slice() {
    const ValueId x = any_with_dims();
    const std::size_t dim = below(rank(x));
    Shape result = shape(x);
    const auto size = static_cast<std::size_t>(result[dim]);
    const auto start = static_cast<std::int64_t>(below(size));
    const std::int64_t step = one_in(3) ? 2 : 1;
    const std::int64_t end =
        one_in(3) ? INT64_MAX
                  : start + 1 +
                        static_cast<std::int64_t>(
                            below(size - static_cast<std::size_t>(start)));
    result[dim] = (std::min(end, result[dim]) - start + step - 1) / step;
    emit("aten.slice.Tensor",
         {x, dim_argument(x, dim), integer(start), integer(end), integer(step)},
         {result});
  }

  void permute() {
    const ValueId x = any_with_dims();
    std::vector<std::int64_t> order(rank(x));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[below(i)]);
    }
    Shape result;
    for (std::int64_t dim : order) {
      result.push_back(shape(x)[static_cast<std::size_t>(dim)]);
    }
    emit("aten.permute", {x, Attribute{order}}, {result});
  }

  void transpose(const char* op, ValueId x) {
    const std::size_t a = below(rank(x));
    const std::size_t b = below(rank(x));
    Shape result = shape(x);
    std::swap(result[a], result[b]);
    emit(op, {x, dim_argument(x, a), dim_argument(x, b)}, {result});
  }
  void transpose() { transpose("aten.transpose.int", any_with_dims()); }

  void reshape() {
    const ValueId x = any();
    const auto numel = static_cast<std::int64_t>(tensor(x).addresses.size());
    Shape result{numel};
    for (std::int64_t factor : {2, 3}) {
      if (result[0] % factor != 0 || one_in(2)) continue;
      result[0] /= factor;
      result.push_back(factor);
    }
    const bool view = tensor(x).has_strides_as(result) && !one_in(3);
    emit(view ? "aten.view" : "aten.reshape", {x, Attribute{result}}, {result});
  }

  void unsqueeze(const char* op, ValueId x) {
    if (rank(x) > 4) return;
    const std::size_t dim = below(rank(x) + 1);
    Shape result = shape(x);
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(dim), 1);
    emit(op, {x, integer(static_cast<std::int64_t>(dim))}, {result});
  }
  void unsqueeze() { unsqueeze("aten.unsqueeze", any()); }

  void squeeze() {
    const ValueId x = any_with_dims();
    const std::size_t dim = below(rank(x));
    Shape result = shape(x);
    if (result[dim] == 1) {
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(dim));
    }
    emit("aten.squeeze.dim", {x, dim_argument(x, dim)}, {result});
  }

  void expand() {
    const ValueId x = any();
    if (rank(x) > 4 || tensor(x).addresses.size() > 30) return;
    Shape result = shape(x);
    for (std::int64_t& size : result) {
      if (size == 1 && one_in(2)) size = 2;
    }
    if (one_in(4)) result.insert(result.begin(), one_in(2) ? 1 : 2);
    emit("aten.expand", {x, Attribute{result}, Attribute{false}}, {result});
  }

  void split() {
    const ValueId x = any_with_dims();
    const std::size_t dim = below(rank(x));
    std::vector<Shape> results;
    const std::int64_t size = 1 + static_cast<std::int64_t>(below(2));
    for (std::int64_t left = shape(x)[dim]; left > 0; left -= size) {
      results.push_back(shape(x));
      results.back()[dim] = std::min(size, left);
    }
    emit("aten.split.Tensor", {x, integer(size), dim_argument(x, dim)},
         results);
  }

  void unbind() {
    const ValueId x = any_with_dims();
    const std::size_t dim = below(rank(x));
    Shape result = shape(x);
    const auto pieces = static_cast<std::size_t>(result[dim]);
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(dim));
    emit("aten.unbind.int", {x, dim_argument(x, dim)},
         std::vector<Shape>(pieces, result));
  }

  void diagonal() {
    const ValueId x = any();
    if (rank(x) != 2) return;
    const Shape& s = shape(x);
    const std::int64_t offset = one_in(2) && s[1] > 1 ? 1 : 0;
    emit("aten.diagonal", {x, integer(offset), integer(0), integer(1)},
         {{std::min(s[0], s[1] - offset)}});
  }

  void detach() {
    const ValueId x = any();
    emit("aten.detach", {x}, {shape(x)});
  }

  void contiguous() {
    const ValueId x = any();
    emit("aten.contiguous", {x, integer(0)}, {shape(x)});
  }

  // New values.

  void clone() {
    const ValueId x = any();
    emit("aten.clone", {x, Attribute{}}, {shape(x)});
  }

  void add() {
    const ValueId x = any();
    emit("aten.add.Tensor", {x, any_that_fits(x), integer(2)}, {shape(x)});
  }

  // Writes.

  void write_sum() {
    const ValueId x = any_writable();
    emit("aten.add_.Tensor", {x, any_that_fits(x), integer(1)}, {shape(x)});
  }

  void write_product() {
    const ValueId x = any_writable();
    emit("aten.mul_.Scalar", {x, integer(3)}, {shape(x)});
  }

  void write_copy() {
    const ValueId x = any_writable();
    const ValueId from = any_that_fits(x);
    // Of overlapping memory, the order of reads would matter.
    if (tensor(x).memory == tensor(from).memory) return;
    emit("aten.copy_", {x, from, Attribute{false}}, {shape(x)});
  }

  void write_fill() {
    const ValueId x = any_writable();
    if (one_in(3)) {
      emit("aten.zero_", {x}, {shape(x)});
    } else {
      emit("aten.fill_.Scalar", {x, integer(5)}, {shape(x)});
    }
  }

  void write_masked() {
    const ValueId x = any_writable();
    const ValueId mask =
        emit("aten.gt.Scalar", {x, integer(0)}, {shape(x)}, DType::kBool);
    emit("aten.masked_fill_.Scalar", {x, mask, integer(-1)}, {shape(x)});
  }

  void write_out() {
    const ValueId out = any_writable();
    const ValueId a = any_that_fits(out);
    emit_out("aten.add.out", {a, any_that_fits(out), integer(1), out}, out);
  }

  void emit_out(const std::string& op, std::vector<Argument> arguments,
                ValueId out) {
    emit(op, std::move(arguments), {shape(out)});
  }

  void turn() {
    const ValueId x = any_writable();
    if (owners_.contains(machine_.at(x).get()) || rank(x) == 0) return;
    transpose("aten.transpose_", x);
  }

  void lengthen() {
    const ValueId x = any_writable();
    if (owners_.contains(machine_.at(x).get())) return;
    unsqueeze("aten.unsqueeze_", x);
  }

  static constexpr Step kSteps[] = {
      &Generator::select,        &Generator::select,
      &Generator::slice,         &Generator::slice,
      &Generator::permute,       &Generator::transpose,
      &Generator::reshape,       &Generator::reshape,
      &Generator::unsqueeze,     &Generator::squeeze,
      &Generator::expand,        &Generator::split,
      &Generator::unbind,        &Generator::diagonal,
      &Generator::detach,        &Generator::contiguous,
      &Generator::clone,         &Generator::add,
      &Generator::add,           &Generator::write_sum,
      &Generator::write_sum,     &Generator::write_sum,
      &Generator::write_product, &Generator::write_product,
      &Generator::write_copy,    &Generator::write_copy,
      &Generator::write_fill,    &Generator::write_masked,
      &Generator::write_out,     &Generator::turn,
      &Generator::lengthen,
  };

  std::mt19937 random_;
  Program program_;
  Machine machine_;
  std::vector<ValueId> values_;      // of integers
  std::set<const Numbers*> frozen_;  // memory of user inputs
  std::set<const Tensor*> owners_;   // the inputs themselves
  std::set<ValueId> expanded_;       // views through an expansion
};

}  // namespace

Program random_program(std::uint32_t seed, int nodes) {
  return Generator(seed).run(nodes);
}

}  // namespace merak::passes::testing
