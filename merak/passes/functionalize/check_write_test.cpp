#include <gmock/gmock.h>

#include "merak/passes/functionalize/functionalize.h"
#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The error on a graph of one parameter, input, .. and these statements.
std::string failure(const std::string& statements) {
  return testing::usage_failure(functionalize, R"(graph "g" {
    %w: f32[2,3] = parameter "h.0.weight"
    %x: f32[2,3] = user "pixels"
    %s: f32[2,3] = buffer "state"
    %c: f32[2,3] = constant "constant_0"
    )" + statements + "}");
}

TEST(CheckWrite, RefusesParametersAndInputs) {
  EXPECT_EQ(failure("%1: f32[2,3] = aten.mul_.Scalar(%w, 2) @\"h.0\""),
            "aten.mul_.Scalar in module 'h.0' writes to parameter "
            "'h.0.weight': parameters change by the optimizer only; compute a "
            "new tensor instead");
  EXPECT_EQ(failure("%1: f32[3] = aten.select.int(%x, 0, 0)\n"
                    "%2: f32[3] = aten.relu_(%1)"),
            "aten.relu_ writes to the user input 'pixels' through a view of "
            "it: inputs must stay as they are; clone it first");
  EXPECT_THAT(failure("%1: f32[2,3] = aten.add.out(%x, %x, 1, %w)"),
              HasSubstr("aten.add.out writes to parameter 'h.0.weight'"));
  EXPECT_THAT(failure("%1: f32[2,3,1] = aten.unsqueeze_(%x, 2)"),
              HasSubstr("changes the shape of user 'pixels' for good"));
}

TEST(CheckWrite, LetsBuffersAndConstantsBeWritten) {
  EXPECT_EQ(failure("%1: f32[2,3] = aten.mul_.Scalar(%s, 2) no_grad\n"
                    "%2: f32[2,3] = aten.mul_.Scalar(%c, 2) no_grad"),
            "");
}

TEST(CheckWrite, RefusesViewsThatOverlap) {
  EXPECT_EQ(failure(R"(
      %1: f32[2,1,3] = aten.zeros([2, 1, 3], f32, none, none, none)
      %2: f32[2,4,3] = aten.expand(%1, [-1, 4, -1], false) @"heads"
      %3: f32[4,3] = aten.select.int(%2, 0, 0)
      %4: f32[4,3] = aten.relu_(%3) @"act")"),
            "aten.relu_ in module 'act' writes to a tensor that is expanded, "
            "so elements share memory, by aten.expand in module 'heads'; clone "
            "it first");
  EXPECT_EQ(failure(R"(
      %1: f32[2,1,3] = aten.zeros([2, 1, 3], f32, none, none, none)
      %2: f32[1,2,1,3] = aten.expand(%1, [1, 2, 1, 3], false)
      %3: f32[1,2,1,3] = aten.relu_(%2))"),
            "");
}

TEST(CheckWrite, RefusesOpaqueViews) {
  const std::string unfolded = R"(
      %1: f32[4] = aten.zeros([4], f32, none, none, none)
      %2: f32[3,2] = aten.unfold(%1, 0, 2, 1) @"windows"
      )";
  EXPECT_THAT(failure(unfolded + "%3: f32[3,2] = aten.relu_(%2)"),
              HasSubstr("a view that cannot be written through, by "
                        "aten.unfold in module 'windows'"));
  EXPECT_THAT(failure(unfolded + "%3: f32[4] = aten.relu_(%1)\n"
                                 "return \"y\": %2"),
              HasSubstr("aten.unfold in module 'windows' looks at memory that "
                        "is written to"));
  EXPECT_EQ(failure(unfolded + "%3: f32[3,2] = aten.exp(%2)\n"
                               "%4: f32[4] = aten.relu_(%1)\n"
                               "return \"y\": %3"),
            "");
  EXPECT_THAT(failure("%1: f32[2,3] = aten.exp(%x)\n"
                      "%2: f32[2,3] = aten.relu_(%1)\n"
                      "%3: f32[2] = aten.as_strided(%1, [2], [3], 0)"),
              HasSubstr("aten.as_strided depends on how tensors lie"));
}

TEST(CheckWrite, RefusesWhatAutogradWouldNotSee) {
  EXPECT_EQ(failure("%1: f32[2,3] = aten.exp(%w)\n"
                    "%2: f32[2,3] = aten.clamp_(%1, 0, 1) @\"m\" no_grad"),
            "aten.clamp_ in module 'm' writes to a tensor that gradients flow "
            "through, under no_grad: its gradient would be that of the value "
            "before; write with gradients enabled, or to a clone");
  EXPECT_THAT(failure("%1: f32[2,3] = aten.exp(%w)\n"
                      "%2: f32[2,3] = aten.detach(%1)\n"
                      "%3: f32[2,3] = aten.relu_(%2)"),
              HasSubstr("gradients flow through, through detach"));
  // Neither where none flow, nor where they flow in with the write.
  EXPECT_EQ(failure("%1: f32[2,3] = aten.exp(%x)\n"
                    "%2: f32[2,3] = aten.relu_(%1) no_grad\n"
                    "%3: f32[2,3] = aten.add_.Tensor(%1, %w, 1)"),
            "");
  EXPECT_THAT(failure("%1: f32[2,3] = aten.exp(%x)\n"
                      "%2: f32[3] = aten.select.int(%1, 0, 0)\n"
                      "%3: f32[3] = aten.select.int(%w, 0, 0)\n"
                      "%4: f32[3] = aten.copy_(%2, %3, false)\n"
                      "%5: f32[2,3] = aten.relu_(%1) no_grad"),
              HasSubstr("aten.relu_ writes to a tensor that gradients flow"));
}

TEST(CheckWrite, RefusesOperatorsWithoutAnOutOfPlaceForm) {
  for (const char* node :
       {"aten.resize_(%1, [4], none)", "aten.fill_diagonal_(%1, 0, false)",
        "aten._foreach_add_.Scalar([%1, %1], 1)",
        "aten.instance_norm(%x, none, none, %1, %1, true, 0.1, 1e-05, true)",
        "aten.zeros.out([2, 3], %1)"}) {
    EXPECT_THAT(failure("%1: f32[2,3] = aten.exp(%x)\n%2: f32[2,3] = " +
                        std::string(node) + " @\"m\""),
                AllOf(HasSubstr("in module 'm' writes to its arguments"),
                      HasSubstr("use an operator that returns a new tensor")))
        << node;
  }
}

TEST(CheckWrite, RefusesOutOfAnotherSize) {
  EXPECT_THAT(failure("%1: f32[0] = aten.empty([0], f32)\n"
                      "%2: f32[2,3] = aten.exp.out(%x, %1)"),
              HasSubstr("changes the size of its argument `out` from f32[0] "
                        "to f32[2,3]"));
}

}  // namespace
}  // namespace merak::passes
