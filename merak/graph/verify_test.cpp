#include "merak/graph/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "merak/base/error.h"
#include "merak/graph/ops/catalogue.h"
#include "merak/graph/text.h"

namespace merak::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Graph two_nodes() {
  return parse(R"(graph "g" {
    %x: f32[2] = user "x"
    %1: f32[2] = aten.neg(%x) @"m"
    %2: f32[2] = aten.exp(%1)
    return "y": %2
  })");
}

std::string failure(const Graph& graph, const VerifyOptions& options = {}) {
  try {
    verify(graph, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    return error.what();
  }
  return "";
}

TEST(Verify, AcceptsWhatIsSound) { EXPECT_EQ(failure(two_nodes()), ""); }

TEST(Verify, RefusesAUseBeforeTheDefinition) {
  Graph graph = two_nodes();
  graph.node(0).arguments = {ValueId{2}};
  EXPECT_EQ(failure(graph),
            "graph 'g': node 0 (aten.neg in 'm'): it reads %2, which is made "
            "later");
}

TEST(Verify, RefusesIdsOutOfRange) {
  Graph graph = two_nodes();
  graph.node(1).arguments = {ValueList{{kNoValue, 3}}};
  EXPECT_THAT(failure(graph), HasSubstr("it reads value 3"));
  graph = two_nodes();
  graph.node(1).results = {9};
  EXPECT_THAT(failure(graph), HasSubstr("its result 0 is value 9"));
  graph = two_nodes();
  graph.set_outputs({{-5, "z"}});
  EXPECT_THAT(failure(graph), HasSubstr("output 'z' is value -5"));
}

TEST(Verify, RefusesTwoProducers) {
  Graph graph = two_nodes();
  graph.node(1).results = {1};
  EXPECT_THAT(failure(graph), HasSubstr("which has another producer"));
  graph = two_nodes();
  graph.value(2).producer = 0;
  EXPECT_THAT(failure(graph), HasSubstr("%2, which has another producer"));
}

TEST(Verify, RefusesAValueWithoutProducer) {
  Graph graph = two_nodes();
  graph.node(1).results = {kNoValue};
  EXPECT_THAT(failure(graph), HasSubstr("value %2 (2) has no producer"));
}

TEST(Verify, RefusesNamesTwice) {
  Graph graph = two_nodes();
  graph.value(1).name = "x";
  EXPECT_THAT(failure(graph), HasSubstr("two values %x"));
  graph = two_nodes();
  graph.add_output(1, "y");
  EXPECT_THAT(failure(graph), HasSubstr("two outputs 'y'"));
  graph = two_nodes();
  graph.add_input(InputKind::kUser, "x", {});
  EXPECT_THAT(failure(graph), HasSubstr("two inputs user 'x'"));
}

TEST(Verify, RefusesOddTypesAndArguments) {
  Graph graph = two_nodes();
  graph.value(1).type.shape = {-1};
  EXPECT_THAT(failure(graph), HasSubstr("value %1 is f32[-1]"));
  graph = two_nodes();
  graph.value(1).type.strides = {1, 1};
  EXPECT_THAT(failure(graph), HasSubstr("2 strides"));
  graph = two_nodes();
  graph.node(1).arguments = {ValueId{kNoValue}};
  EXPECT_THAT(failure(graph), HasSubstr("must be the attribute none"));
}

TEST(Verify, RefusesWritesUnlessAllowed) {
  const Graph graph = parse(R"(graph "g" {
    %x: f32[2] = user "x"
    %1: f32[2] = aten.add_.Tensor(%x, %x, 1)
  })");
  EXPECT_THAT(failure(graph), HasSubstr("it writes to its argument %x"));
  EXPECT_EQ(failure(graph, {.functional = false}), "");
}

std::vector<std::size_t> writes_of(const char* node) {
  const Graph graph = parse(std::string(R"(graph "g" {
    %x: f32[2] = user "x"
    %y: f32[2] = user "y"
    )") + node + "}");
  return written_arguments(graph.node(0));
}

TEST(Writes, FollowATensConventions) {
  EXPECT_THAT(writes_of("%2: f32[2] = aten.add.Tensor(%x, %y, 1)"), IsEmpty());
  EXPECT_THAT(writes_of("%2: f32[2] = aten.add_.Tensor(%x, %y, 1)"),
              ElementsAre(0));
  EXPECT_THAT(writes_of("%2: f32[2] = aten.__and__.Tensor(%x, %y)"), IsEmpty());
  EXPECT_THAT(writes_of("%2: f32[2] = aten.__iand__.Tensor(%x, %y)"),
              ElementsAre(0));
  EXPECT_THAT(writes_of("%2: f32[2] = aten.add.out(%x, %x, 1, %y)"),
              ElementsAre(3));
  EXPECT_THAT(writes_of("%2: f32[2], %3: f32[2] = "
                        "aten.topk.values(%x, 2, 0, true, true, %x, %y)"),
              ElementsAre(5, 6));
  EXPECT_THAT(writes_of("%2: f32[2] = merak.odd_(%x)"), IsEmpty());
}

TEST(Writes, KnowBatchNormInTraining) {
  EXPECT_THAT(writes_of("%2: f32[2] = aten.batch_norm(%x, none, none, %y, %y, "
                        "true, 0.1, 1e-05, true)"),
              ElementsAre(3, 4));
  EXPECT_THAT(writes_of("%2: f32[2] = aten.batch_norm(%x, none, none, %y, %y, "
                        "false, 0.1, 1e-05, true)"),
              IsEmpty());
  EXPECT_THAT(writes_of("%2: f32[2] = aten.batch_norm(%x, none, none, none, "
                        "none, true, 0.1, 1e-05, true)"),
              IsEmpty());
  EXPECT_THAT(writes_of("%2: f32[2] = aten._batch_norm_with_update(%x, none, "
                        "none, %y, %y, 0.1, 1e-05)"),
              ElementsAre(3, 4));
}

}  // namespace
}  // namespace merak::graph
