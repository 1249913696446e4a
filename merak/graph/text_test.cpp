#include "merak/graph/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "merak/base/error.h"
#include "merak/graph/verify.h"

namespace merak::graph {
namespace {

using ::testing::HasSubstr;

// Everything the text can say.
Graph everything() {
  Graph graph("all \"kinds\"");
  const ValueId ids =
      graph.add_input(InputKind::kUser, "input_ids", {DType::kI64, {2, 3}, {}});
  const ValueId weight = graph.add_input(InputKind::kParameter, "h.0.weight",
                                         {DType::kF32, {4, 3}, {1, 4}}, false);
  const NodeId node = graph.add_node(
      "aten.index.Tensor",
      {weight, ValueList{{kNoValue, ids}}, Attribute{}, Attribute{true},
       Attribute{std::int64_t{-7}}, Attribute{0.1}, Attribute{3.0},
       Attribute{std::string("a\"\\\n\t\x01ü")}, Attribute{DType::kBF16}},
      {TensorType{DType::kF32, {}, {}}, std::nullopt,
       TensorType{DType::kBool, {0, 1}, {}}},
      "h.0.attn", false);
  const ValueId late =
      graph.add_input(InputKind::kRandom, "random", {DType::kI64, {4}, {}});
  graph.add_node("merak.lists",
                 {ValueList{}, ValueList{{kNoValue}},
                  Attribute{std::vector<std::int64_t>{}},
                  Attribute{std::vector<std::int64_t>{1, -2}},
                  Attribute{std::vector<double>{}},
                  Attribute{std::vector<double>{1.0, 1e-300}},
                  Attribute{std::vector<bool>{}},
                  Attribute{std::vector<bool>{true, false}}, late},
                 {});
  graph.add_node("aten.neg", {graph.node(node).results[0]},
                 {TensorType{DType::kF32, {}, {}}});
  graph.set_name(late, "the key");
  graph.add_output(graph.node(node).results[2], "mask: x");
  graph.add_output(ids, "ids");
  return graph;
}

TEST(Text, RoundTripKeepsEverything) {
  const Graph graph = everything();
  const std::string text = print(graph);
  const Graph again = parse(text);
  verify(again);
  EXPECT_EQ(print(again), text);
  EXPECT_EQ(again.name(), graph.name());
  ASSERT_EQ(again.nodes().size(), graph.nodes().size());
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& a = graph.nodes()[i];
    const Node& b = again.nodes()[i];
    EXPECT_EQ(a.op, b.op);
    EXPECT_EQ(a.arguments, b.arguments) << a.op;
    EXPECT_EQ(a.results, b.results);
    EXPECT_EQ(a.module, b.module);
    EXPECT_EQ(a.grad_enabled, b.grad_enabled);
  }
  ASSERT_EQ(again.values().size(), graph.values().size());
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    EXPECT_EQ(again.values()[i].type, graph.values()[i].type);
    EXPECT_EQ(again.values()[i].name, graph.values()[i].name);
  }
  ASSERT_EQ(again.inputs().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again.inputs()[i].kind, graph.inputs()[i].kind);
    EXPECT_EQ(again.inputs()[i].name, graph.inputs()[i].name);
    EXPECT_EQ(again.inputs()[i].trainable, graph.inputs()[i].trainable);
  }
}

TEST(Text, ReadsAsDocumented) {
  Graph graph("model");
  const ValueId ids = graph.add_input(InputKind::kUser, "input_ids",
                                      {DType::kI64, {2, 256}, {}});
  const ValueId weight = graph.add_input(InputKind::kParameter, "wte.weight",
                                         {DType::kF32, {50304, 768}, {}});
  const NodeId node =
      graph.add_node("aten.embedding",
                     {weight, ids, Attribute{std::int64_t{-1}},
                      Attribute{false}, Attribute{false}},
                     {TensorType{DType::kF32, {2, 256, 768}, {}}}, "wte");
  graph.add_output(graph.node(node).results[0], "hidden");
  EXPECT_EQ(print(graph), R"(graph "model" {
  %input_ids: i64[2,256] = user "input_ids"
  %wte.weight: f32[50304,768] = parameter "wte.weight"
  %2: f32[2,256,768] = aten.embedding(%wte.weight, %input_ids, -1, false, false) @"wte"
  return "hidden": %2
}
)");
}

TEST(Text, DoublesKeepEveryBit) {
  using Limits = std::numeric_limits<double>;
  for (double number :
       {0.1, -0.0, 1.0 / 3, 5e-324, Limits::max(), Limits::min(),
        Limits::infinity(), -Limits::infinity(), 1e22, 123456789012345678.0}) {
    Graph graph;
    graph.add_node("aten.full", {Attribute{number}}, {});
    const Graph again = parse(print(graph));
    const auto& attribute = std::get<Attribute>(again.node(0).arguments[0]);
    ASSERT_TRUE(std::holds_alternative<double>(attribute.value)) << number;
    const double read = std::get<double>(attribute.value);
    EXPECT_EQ(read, number);
    EXPECT_EQ(std::signbit(read), std::signbit(number));
  }
  for (double number : {Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    Graph graph;
    graph.add_node("aten.full", {Attribute{number}}, {});
    const Graph again = parse(print(graph));
    const auto& attribute = std::get<Attribute>(again.node(0).arguments[0]);
    EXPECT_TRUE(std::isnan(std::get<double>(attribute.value)));
  }
}

TEST(Text, NumbersAreRenumberedInOrderOfDefinition) {
  const Graph graph = parse(R"(
    graph "g" {  # a comment
      %x: f32[2] = user "x"
      %40: f32[2] = aten.neg(%x)
      %7: f32[2] = aten.neg(%40)
      return "y": %7
    })");
  EXPECT_EQ(print(graph), R"(graph "g" {
  %x: f32[2] = user "x"
  %1: f32[2] = aten.neg(%x)
  %2: f32[2] = aten.neg(%1)
  return "y": %2
}
)");
}

TEST(Text, NamesStayUnique) {
  Graph graph;
  graph.add_input(InputKind::kUser, "x", {});
  graph.add_input(InputKind::kBuffer, "x", {});
  graph.add_input(InputKind::kUser, "3", {});
  graph.add_node("aten.arange", {}, {TensorType{}});
  graph.set_name(3, "x");
  EXPECT_EQ(graph.value(1).name, "x.1");
  EXPECT_EQ(graph.value(2).name, "_3");
  EXPECT_EQ(graph.value(3).name, "x.2");
  verify(graph);
  EXPECT_EQ(print(parse(print(graph))), print(graph));
}

struct BadText {
  const char* text;
  const char* message;
};

class BadTexts : public ::testing::TestWithParam<BadText> {};

TEST_P(BadTexts, AreUsageErrorsWithTheirPlace) {
  try {
    parse(GetParam().text);
    FAIL() << "accepted: " << GetParam().text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Text, BadTexts,
    ::testing::Values(
        BadText{"", "line 1, column 1: expected 'graph', found the end"},
        BadText{"graph \"g\" {", "column 12: expected an operator"},
        BadText{"graph \"g {\n}", "column 11: this string does not end"},
        BadText{"graph \"g\" { } x", "expected the end, found 'x'"},
        BadText{"graph \"g\" {\n  aten.neg(%x)\n}",
                "line 2, column 12: %x is not defined before this use"},
        BadText{"graph \"g\" {\n %x: f33[2] = user \"x\"\n}",
                "line 2, column 6: 'f33' is no element type"},
        BadText{"graph \"g\" {\n %x: f32[2] = users \"x\"\n}",
                "'users' is no kind of input; known are user, parameter"},
        BadText{"graph \"g\" {\n %x: f32[2] = user \"x\"\n"
                " %x: f32[2] = user \"y\"\n}",
                "line 3, column 2: %x is defined twice"},
        BadText{"graph \"g\" {\n %x: f32[2] = user \"x\"\n"
                " %y: f32[2] = user \"x\"\n}",
                "there is a user \"x\" already"},
        BadText{"graph \"g\" { a.b([1, 2.0]) }", "a list holds"},
        BadText{"graph \"g\" { a.b([1, none]) }", "a list holds"},
        BadText{"graph \"g\" { a.b(99999999999999999999) }",
                "'99999999999999999999' is no 64-bit integer"},
        BadText{"graph \"g\" { a.b(1e999) }", "'1e999' is no number"},
        BadText{"graph \"g\" { a.b(1.2.3) }", "'1.2.3' is no number"},
        BadText{"graph \"g\" { a.b(--3) }", "'-' is no"},
        BadText{"graph \"g\" { a.b(1 2) }", "expected ')', found '2'"},
        BadText{"graph \"g\" { a.b(\"\\q\") }", "no such escape"},
        BadText{"graph \"g\" { a.b(ints[]) }", "expected tensors[]"},
        BadText{"graph \"g\" { ! }", "'!' starts nothing here"},
        BadText{"graph \"g\" { _ = user \"x\" }", "an input defines one value"},
        BadText{"graph \"g\" { return \"x\": %y }", "%y is not defined"}));

}  // namespace
}  // namespace merak::graph
