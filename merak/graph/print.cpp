#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "merak/base/error.h"
#include "merak/graph/lexer.h"
#include "merak/graph/text.h"

namespace merak::graph {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string bare_or_quoted(std::string_view name, bool (*is_bare)(char)) {
  const bool bare =
      !name.empty() && std::all_of(name.begin(), name.end(), is_bare);
  return bare ? std::string(name) : quoted(name);
}

std::string print_value(const Graph& graph, ValueId id) {
  if (id == kNoValue) return "none";
  if (id < 0 || static_cast<std::size_t>(id) >= graph.values().size()) {
    return fmt::format("%<{}>", id);
  }
  return "%" + bare_or_quoted(graph.value(id).name, is_value_char);
}

// The shortest text that reads back as the same number, and as no integer.
std::string print_double(double number) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number);
  std::string text(buffer, end.ptr);
  const bool integral =
      text.find_first_not_of("-0123456789") == std::string::npos;
  return integral ? text + ".0" : text;
}

template <typename List, typename Print>
std::string print_list(const List& list, std::string_view kind, Print&& print) {
  if (list.empty()) return fmt::format("{}[]", kind);
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    out += print(list[i]);
  }
  return out + "]";
}

std::string print_bool(bool value) { return value ? "true" : "false"; }

struct AttributePrinter {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return print_bool(value); }
  std::string operator()(std::int64_t value) const {
    return std::to_string(value);
  }
  std::string operator()(double value) const { return print_double(value); }
  std::string operator()(const std::string& value) const {
    return quoted(value);
  }
  std::string operator()(DType value) const {
    return std::string(name_of(value));
  }
  std::string operator()(const std::vector<std::int64_t>& list) const {
    return print_list(list, "",
                      [](std::int64_t i) { return std::to_string(i); });
  }
  std::string operator()(const std::vector<double>& list) const {
    return print_list(list, "floats", print_double);
  }
  std::string operator()(const std::vector<bool>& list) const {
    return print_list(list, "bools", print_bool);
  }
};

std::string print_input(const Graph& graph, const Input& input) {
  return fmt::format("{}: {} = {} {}{}", print_value(graph, input.value),
                     print(graph.value(input.value).type), name_of(input.kind),
                     quoted(input.name), input.trainable ? "" : " frozen");
}

// The highest id that a node reads or defines, or kNoValue.
ValueId highest_id(const Node& node) {
  ValueId highest = kNoValue;
  for (ValueId result : node.results) highest = std::max(highest, result);
  for_each_operand(node, [&](ValueId id) { highest = std::max(highest, id); });
  return highest;
}

}  // namespace

std::string print(const TensorType& type) {
  std::string out =
      fmt::format("{}[{}]", name_of(type.dtype), fmt::join(type.shape, ","));
  if (!type.strides.empty()) {
    out += fmt::format("{{{}}}", fmt::join(type.strides, ","));
  }
  return out;
}

std::string print(const Graph& graph, const Argument& argument) {
  if (const auto* id = std::get_if<ValueId>(&argument)) {
    return print_value(graph, *id);
  }
  if (const auto* list = std::get_if<ValueList>(&argument)) {
    return print_list(list->ids, "tensors",
                      [&](ValueId id) { return print_value(graph, id); });
  }
  return std::visit(AttributePrinter{}, std::get<Attribute>(argument).value);
}

std::string print(const Graph& graph, const Node& node) {
  std::string out;
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    const ValueId id = node.results[i];
    if (i > 0) out += ", ";
    out += id == kNoValue ? "_"
                          : fmt::format("{}: {}", print_value(graph, id),
                                        print(graph.value(id).type));
  }
  if (!node.results.empty()) out += " = ";
  out += bare_or_quoted(node.op, is_op_char) + "(";
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    if (i > 0) out += ", ";
    out += print(graph, node.arguments[i]);
  }
  out += ")";
  if (!node.module.empty()) out += " @" + quoted(node.module);
  if (!node.grad_enabled) out += " no_grad";
  return out;
}

// Inputs may have been added after nodes; each stands where its id belongs, so
// that reading the text gives the same ids.
std::string print(const Graph& graph) {
  std::string out = fmt::format("graph {} {{\n", quoted(graph.name()));
  auto input = graph.inputs().begin();
  auto print_inputs_up_to = [&](ValueId id) {
    for (; input != graph.inputs().end() && input->value <= id; ++input) {
      out += fmt::format("  {}\n", print_input(graph, *input));
    }
  };
  for (const Node& node : graph.nodes()) {
    print_inputs_up_to(highest_id(node));
    out += fmt::format("  {}\n", print(graph, node));
  }
  print_inputs_up_to(static_cast<ValueId>(graph.values().size()));
  for (const Output& output : graph.outputs()) {
    out += fmt::format("  return {}: {}\n", quoted(output.name),
                       print_value(graph, output.value));
  }
  return out + "}\n";
}

}  // namespace merak::graph
