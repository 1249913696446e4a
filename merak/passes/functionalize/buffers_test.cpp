#include "merak/passes/functionalize/functionalize.h"
#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using testing::expect_rewrite;

TEST(Buffers, LeaveAsOutputs) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %n: i64[] = buffer "bn.num_batches_tracked"
    %old: f32[2,3] = buffer "seen"
    %still: f32[3] = buffer "still"
    %4: i64[] = aten.add_.Tensor(%n, 1, 1) @"bn"
    %5: f32[3] = aten.select.int(%old, 0, 0)
    %6: f32[3] = aten.select.int(%x, 0, 1)
    %7: f32[3] = aten.copy_(%5, %6, false) no_grad
    %8: f32[3] = aten.add.Tensor(%still, %5, 1)
    return "y": %8
    return "n": %n
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %n: i64[] = buffer "bn.num_batches_tracked"
    %old: f32[2,3] = buffer "seen"
    %still: f32[3] = buffer "still"
    %4: i64[] = aten.add.Tensor(%n, 1, 1) @"bn"
    %5: f32[3] = aten.select.int(%old, 0, 0)
    %6: f32[3] = aten.select.int(%x, 0, 1)
    %7: f32[3] = aten.detach(%6) no_grad
    %70: f32[2,3] = aten.select_scatter(%old, %7, 0, 0) no_grad
    %8: f32[3] = aten.add.Tensor(%still, %7, 1)
    return "y": %8
    return "n": %4
    return "buffer:bn.num_batches_tracked": %4
    return "buffer:seen": %70
  })");
}

TEST(Buffers, LeaveWithoutGradient) {
  expect_rewrite(functionalize, R"(graph "g" {
    %w: f32[3] = parameter "w"
    %s: f32[3] = buffer "s"
    %2: f32[3] = aten.mul_.Tensor(%s, %w) @"m"
    return "y": %2
  })",
                 R"(graph "g" {
    %w: f32[3] = parameter "w"
    %s: f32[3] = buffer "s"
    %2: f32[3] = aten.mul.Tensor(%s, %w) @"m"
    %3: f32[3] = aten.detach(%2)
    return "y": %2
    return "buffer:s": %3
  })");
}

constexpr const char* kInputs = R"(graph "g" {
    %x: f32[4,3,5,5] = user "x"
    %w: f32[3] = parameter "bn.weight"
    %b: f32[3] = parameter "bn.bias"
    %m: f32[3] = buffer "bn.running_mean"
    %v: f32[3] = buffer "bn.running_var"
    )";

// Both calls of a module that is called twice update the statistics.
TEST(Buffers, BatchNormReturnsItsStatistics) {
  expect_rewrite(functionalize, std::string(kInputs) + R"(
    %5: f32[4,3,5,5] = aten.batch_norm(%x, %w, %b, %m, %v, true, 0.1, 1e-05, false) @"bn"
    %6: f32[4,3,5,5], %7: f32[3], %8: f32[3] = aten.native_batch_norm(%5, none, none, %m, %v, true, 0.1, 1e-05) @"bn" no_grad
    return "y": %6
  })",
                 std::string(kInputs) + R"(
    %5: f32[4,3,5,5], %6: f32[3], %7: f32[3], %8: f32[3], %9: f32[3] = aten._native_batch_norm_legit_functional(%x, %w, %b, %m, %v, true, 0.1, 1e-05) @"bn"
    %10: f32[3] = aten.detach(%8) @"bn"
    %11: f32[3] = aten.detach(%9) @"bn"
    %12: f32[4,3,5,5], %13: f32[3], %14: f32[3], %15: f32[3], %16: f32[3] = aten._native_batch_norm_legit_functional(%5, none, none, %10, %11, true, 0.1, 1e-05) @"bn" no_grad
    %17: f32[3] = aten.detach(%15) @"bn" no_grad
    %18: f32[3] = aten.detach(%16) @"bn" no_grad
    return "y": %12
    return "buffer:bn.running_mean": %17
    return "buffer:bn.running_var": %18
  })");
}

TEST(Buffers, BatchNormInEvaluationWritesNothing) {
  EXPECT_FALSE(testing::run(functionalize, std::string(kInputs) + R"(
    %5: f32[4,3,5,5] = aten.batch_norm(%x, %w, %b, %m, %v, false, 0.1, 1e-05, false)
    return "y": %5
  })")
                   .changed);
}

// Whoever reads an archive may have named its mutated buffers already.
TEST(Buffers, AnOutputOfThatNameIsKept) {
  expect_rewrite(functionalize, R"(graph "g" {
    %s: i64[3] = buffer "s"
    %1: i64[3] = aten.add_.Scalar(%s, 1)
    return "buffer:s": %s
  })",
                 R"(graph "g" {
    %s: i64[3] = buffer "s"
    %1: i64[3] = aten.add.Scalar(%s, 1)
    return "buffer:s": %1
  })");
}

}  // namespace
}  // namespace merak::passes
