#include "merak/graph/rewriter.h"

#include <gtest/gtest.h>

#include "merak/base/error.h"
#include "merak/graph/gradient_flow.h"
#include "merak/graph/text.h"
#include "merak/graph/verify.h"

namespace merak::graph {
namespace {

const char* const kText = R"(graph "g" {
  %x: f32[2] = user "x"
  %w: f32[2] = parameter "w"
  %f: f32[2] = parameter "f" frozen
  %kept: f32[2] = aten.neg(%x) @"m" no_grad
  %4: f32[2], _, %6: i64[2] = their.own([%kept, none], %w)
  %7: f32[2] = aten.detach(%4)
  %8: f32[2] = aten.neg(%f)
  return "y": %4
  return "z": %6
}
)";

TEST(Rewriter, CopiesEverything) {
  const Graph graph = parse(kText);
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    rewriter.copy(static_cast<NodeId>(i));
  }
  const Graph copy = rewriter.finish();
  verify(copy);
  EXPECT_EQ(print(copy), print(graph));
}

TEST(Rewriter, KeepsNamesAndRenumbers) {
  const Graph graph = parse(kText);
  Rewriter rewriter(graph);
  rewriter.map(3, rewriter.at(0));
  rewriter.copy(1);
  const Graph copy = rewriter.finish();
  EXPECT_EQ(print(copy), R"(graph "g" {
  %x: f32[2] = user "x"
  %w: f32[2] = parameter "w"
  %f: f32[2] = parameter "f" frozen
  %3: f32[2], _, %4: i64[2] = their.own([%x, none], %w)
  return "y": %3
  return "z": %4
}
)");
}

TEST(Rewriter, RefusesAMissingOperand) {
  const Graph graph = parse(kText);
  Rewriter rewriter(graph);
  EXPECT_THROW(rewriter.copy(1), Error);
}

TEST(GradientFlow, FollowsTrainableParameters) {
  const Graph graph = parse(kText);
  const std::vector<bool> needed = needs_gradient(graph);
  std::string names;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) names += graph.values()[i].name + " ";
  }
  EXPECT_EQ(names, "w 4 ");
}

}  // namespace
}  // namespace merak::graph
