#include "merak/passes/functionalize/functionalize.h"

#include "merak/passes/pass_testing.h"

namespace merak::passes {
namespace {

using testing::expect_rewrite;
using testing::run;

TEST(Functionalize, LeavesFunctionalGraphs) {
  EXPECT_FALSE(run(functionalize, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[6] = aten.view(%x, [6])
    %2: f32[6] = aten.neg(%1)
    return "y": %2
  })")
                   .changed);
}

TEST(Functionalize, EveryReaderSeesAWrite) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[3] = user "x"
    %a: f32[3] = aten.neg(%x)
    %b: f32[3] = aten.exp(%a)
    %c: f32[3] = aten.add_.Tensor(%a, %x, 1) @"m" no_grad
    %d: f32[3] = aten.mul.Tensor(%a, %c)
    return "a": %a
    return "b": %b
    return "d": %d
  })",
                 R"(graph "g" {
    %x: f32[3] = user "x"
    %a: f32[3] = aten.neg(%x)
    %b: f32[3] = aten.exp(%a)
    %3: f32[3] = aten.add.Tensor(%a, %x, 1) @"m" no_grad
    %d: f32[3] = aten.mul.Tensor(%3, %3)
    return "a": %3
    return "b": %b
    return "d": %d
  })");
}

TEST(Functionalize, AWriteToAViewIsPutBackAndOtherViewsAreTakenAgain) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[6] = aten.view(%1, [6]) @"flat" no_grad
    %3: f32[3] = aten.select.int(%1, 0, -1)
    %4: f32[2] = aten.slice.Tensor(%3, 0, 1, 9223372036854775807, 1)
    %5: f32[2] = aten.relu_(%4) @"m"
    %6: f32[6] = aten.exp(%2)
    %7: f32[3] = aten.exp(%3)
    return "part": %5
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[6] = aten.view(%1, [6]) @"flat" no_grad
    %3: f32[3] = aten.select.int(%1, 0, -1)
    %4: f32[2] = aten.slice.Tensor(%3, 0, 1, 9223372036854775807, 1)
    %5: f32[2] = aten.relu(%4) @"m"
    %6: f32[3] = aten.slice_scatter(%3, %5, 0, 1, 3, 1) @"m"
    %7: f32[2,3] = aten.select_scatter(%1, %6, 0, 1) @"m"
    %8: f32[6] = aten.reshape(%7, [6]) @"flat" no_grad
    %9: f32[6] = aten.exp(%8)
    %10: f32[3] = aten.exp(%6)
    return "part": %5
  })");
}

TEST(Functionalize, WholeViewsAreUndone) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[2,3,4] = user "x"
    %1: f32[2,3,4] = aten.neg(%x)
    %2: f32[4,2,3] = aten.permute(%1, [2, 0, -2])
    %3: f32[4,2,1,3] = aten.unsqueeze(%2, 2)
    %4: f32[4,2,1,3] = aten.detach(%3)
    %5: f32[4,2,1,3] = aten.neg_(%4)
    return "y": %1
  })",
                 R"(graph "g" {
    %x: f32[2,3,4] = user "x"
    %1: f32[2,3,4] = aten.neg(%x)
    %2: f32[4,2,3] = aten.permute(%1, [2, 0, -2])
    %3: f32[4,2,1,3] = aten.unsqueeze(%2, 2)
    %4: f32[4,2,1,3] = aten.detach(%3)
    %5: f32[4,2,1,3] = aten.neg(%4)
    %6: f32[4,2,3] = aten.reshape(%5, [4, 2, 3])
    %7: f32[2,3,4] = aten.permute(%6, [1, 2, 0])
    return "y": %7
  })");
}

TEST(Functionalize, PiecesAndDiagonals) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[3,3] = user "x"
    %1: f32[3,3] = aten.neg(%x)
    %2: f32[3,2], %3: f32[3,1] = aten.split.Tensor(%1, 2, -1)
    %4: f32[3,1] = aten.neg_(%3)
    %5: f32[2] = aten.diagonal(%1, 1, 0, 1)
    %6: f32[2] = aten.neg_(%5)
    %7: f32[3,2] = aten.exp(%2)
    return "y": %1
  })",
                 R"(graph "g" {
    %x: f32[3,3] = user "x"
    %1: f32[3,3] = aten.neg(%x)
    %2: f32[3,2], %3: f32[3,1] = aten.split.Tensor(%1, 2, -1)
    %4: f32[3,1] = aten.neg(%3)
    %5: f32[3,3] = aten.slice_scatter(%1, %4, 1, 2, 3, 1)
    %6: f32[2] = aten.diagonal(%5, 1, 0, 1)
    %7: f32[2] = aten.neg(%6)
    %8: f32[3,3] = aten.diagonal_scatter(%5, %7, 1, 0, 1)
    %9: f32[3,2] = aten.slice.Tensor(%8, 1, 0, 2, 1)
    %10: f32[3,2] = aten.exp(%9)
    return "y": %8
  })");
}

TEST(Functionalize, CopiesAndFills) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[3] = user "x"
    %n: i64[2,1] = user "n"
    %s: f32[] = user "s"
    %1: f32[2,3] = aten.empty([2, 3], f32, none, none, none, none)
    %2: f32[2,3] = aten.copy_(%1, %x, false)
    %3: f32[2,3] = aten.neg(%1)
    %4: f32[2,3] = aten.copy_(%1, %n, false)
    %5: f32[2,3] = aten.neg(%1)
    %6: f32[2,3] = aten.fill_.Scalar(%1, 2)
    %7: f32[2,3] = aten.neg(%1)
    %8: f32[2,3] = aten.fill_.Tensor(%1, %s)
    %9: f32[2,3] = aten.neg(%1)
    %10: f32[2,3] = aten.zero_(%1)
    %11: f32[2,3] = aten.copy_(%1, %3, false)
    return "y": %1
  })",
                 R"(graph "g" {
    %x: f32[3] = user "x"
    %n: i64[2,1] = user "n"
    %s: f32[] = user "s"
    %1: f32[2,3] = aten.empty([2, 3], f32, none, none, none, none)
    %2: f32[2,3] = aten.expand(%x, [2, 3], false)
    %3: f32[2,3] = aten.neg(%2)
    %4: f32[2,1] = aten._to_copy(%n, f32, none, none, none, false, none)
    %40: f32[2,3] = aten.expand(%4, [2, 3], false)
    %5: f32[2,3] = aten.neg(%40)
    %6: f32[2,3] = aten.full_like(%40, 2, none, none, none, none, none)
    %7: f32[2,3] = aten.neg(%6)
    %8: f32[2,3] = aten.expand(%s, [2, 3], false)
    %9: f32[2,3] = aten.neg(%8)
    %10: f32[2,3] = aten.zeros_like(%8, none, none, none, none, none)
    return "y": %3
  })");
}

TEST(Functionalize, ACopyUnderNoGradHandsOnNoGradient) {
  expect_rewrite(functionalize, R"(graph "g" {
    %w: f32[3] = parameter "w"
    %1: f32[3] = aten.zeros([3], f32, none, none, none)
    %2: f32[3] = aten.copy_(%1, %w, false) no_grad
    return "y": %1
  })",
                 R"(graph "g" {
    %w: f32[3] = parameter "w"
    %1: f32[3] = aten.zeros([3], f32, none, none, none)
    %2: f32[3] = aten.detach(%w) no_grad
    return "y": %2
  })");
}

TEST(Functionalize, TensorsKeepTheirElementType) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[3] = user "x"
    %s: f32[] = user "s"
    %1: f16[3] = aten._to_copy(%x, f16, none, none, none, false, none)
    %2: f16[3] = aten.add_.Tensor(%1, %x, 1)
    %3: f16[3] = aten.mul_.Tensor(%1, %s)
    %4: f16[3] = aten.lt_.Scalar(%1, 0)
    return "y": %4
  })",
                 R"(graph "g" {
    %x: f32[3] = user "x"
    %s: f32[] = user "s"
    %1: f16[3] = aten._to_copy(%x, f16, none, none, none, false, none)
    %2: f32[3] = aten.add.Tensor(%1, %x, 1)
    %3: f16[3] = aten._to_copy(%2, f16, none, none, none, false, none)
    %4: f16[3] = aten.mul.Tensor(%3, %s)
    %5: bool[3] = aten.lt.Scalar(%4, 0)
    %6: f16[3] = aten._to_copy(%5, f16, none, none, none, false, none)
    return "y": %6
  })");
}

TEST(Functionalize, OutIsOneMoreWrite) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,2,3] = aten.zeros([2, 2, 3], f32, none, none, none)
    %2: f32[2,3] = aten.select.int(%1, 0, 0)
    %3: f32[2,3] = aten.add.out(%x, %x, 2, %2)
    %4: f32[2] = aten.zeros([2], f32, none, none, none)
    %5: i64[2] = aten.zeros([2], i64, none, none, none)
    %6: f32[2], %7: i64[2] = aten.max.dim_max(%3, 1, false, %4, %5)
    return "base": %1
    return "values": %4
    return "indices": %7
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,2,3] = aten.zeros([2, 2, 3], f32, none, none, none)
    %2: f32[2,3] = aten.select.int(%1, 0, 0)
    %3: f32[2,3] = aten.add.Tensor(%x, %x, 2)
    %30: f32[2,2,3] = aten.select_scatter(%1, %3, 0, 0)
    %4: f32[2] = aten.zeros([2], f32, none, none, none)
    %5: i64[2] = aten.zeros([2], i64, none, none, none)
    %6: f32[2], %7: i64[2] = aten.max.dim(%3, 1, false)
    return "base": %30
    return "values": %6
    return "indices": %7
  })");
}

TEST(Functionalize, ATensorMayLookDifferently) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[3,2] = aten.t(%1)
    %3: f32[3,2] = aten.t_(%1) @"m"
    %4: f32[3,2] = aten.exp(%1)
    %5: f32[3,2] = aten.neg_(%3)
    %6: f32[3,2] = aten.exp(%2)
    return "y": %1
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[3,2] = aten.t(%1)
    %3: f32[3,2] = aten.permute(%1, [1, 0]) @"m"
    %4: f32[3,2] = aten.exp(%3)
    %5: f32[3,2] = aten.neg(%3)
    %6: f32[2,3] = aten.permute(%5, [1, 0])
    %7: f32[3,2] = aten.permute(%6, [1, 0])
    %8: f32[3,2] = aten.exp(%7)
    return "y": %5
  })");
}

TEST(Functionalize, WhatGivesBackItsArgumentIsTheArgument) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[2,3] = aten.dropout(%1, 0.5, false)
    %3: f32[2,3] = aten.contiguous(%2, 0)
    %4: f32[2,3] = aten.to.dtype(%3, f32, false, false, none)
    %5: f32[2,3] = aten.exp_(%4)
    return "y": %1
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[2,3] = aten.dropout(%1, 0.5, false)
    %3: f32[2,3] = aten.contiguous(%2, 0)
    %4: f32[2,3] = aten.to.dtype(%3, f32, false, false, none)
    %5: f32[2,3] = aten.exp(%4)
    return "y": %5
  })");
}

TEST(Functionalize, WhatGivesBackItsArgumentChangesItsShapeToo) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[2,3] = aten.contiguous(%1, 0)
    %3: f32[2,1,3] = aten.unsqueeze_(%2, 1)
    %4: f32[2,1], %5: f32[2,1], %6: f32[2,1] = aten.unbind.int(%1, 2)
    %7: f32[2,1] = aten.zero_(%6)
    return "y": %2
  })",
                 R"(graph "g" {
    %x: f32[2,3] = user "x"
    %1: f32[2,3] = aten.neg(%x)
    %2: f32[2,3] = aten.contiguous(%1, 0)
    %3: f32[2,1,3] = aten.reshape(%2, [2, 1, 3])
    %4: f32[2,1], %5: f32[2,1], %6: f32[2,1] = aten.unbind.int(%3, 2)
    %7: f32[2,1] = aten.zeros_like(%6, none, none, none, none, none)
    %8: f32[2,1,3] = aten.select_scatter(%3, %7, 2, 2)
    %9: f32[2,3] = aten.reshape(%8, [2, 3])
    return "y": %8
  })");
}

TEST(Functionalize, WhatGivesBackItsArgumentCutsNoGradient) {
  expect_rewrite(functionalize, R"(graph "g" {
    %w: f32[2,3] = parameter "w"
    %1: f32[2,3] = aten.neg(%w)
    %2: f32[2,3] = aten.contiguous(%1, 0) no_grad
    %3: f32[2,3] = aten.mul_.Scalar(%2, 2)
    return "y": %1
  })",
                 R"(graph "g" {
    %w: f32[2,3] = parameter "w"
    %1: f32[2,3] = aten.neg(%w)
    %2: f32[2,3] = aten.contiguous(%1, 0) no_grad
    %3: f32[2,3] = aten.mul.Scalar(%1, 2)
    return "y": %3
  })");
}

TEST(Functionalize, WhatCopiesIsNot) {
  for (const char* copy :
       {"aten.dropout(%2, 0.5, true)", "aten.contiguous(%2, 0)",
        "aten.to.dtype(%2, f32, false, true, none)", "aten.clone(%2, none)"}) {
    const std::string before = std::string(R"(graph "g" {
      %x: f32[2,3] = user "x"
      %1: f32[2,3] = aten.neg(%x)
      %2: f32[3,2]{1,3} = aten.t(%1)
      %3: f32[3,2] = )") + copy +
                               R"(
      %4: f32[3,2] = aten.exp)";
    expect_rewrite(functionalize, before + "_(%3)\nreturn \"y\": %1\n}",
                   before + "(%3)\nreturn \"y\": %1\n}");
  }
}

TEST(Functionalize, LaterViewsMakeNoDemandOnLayout) {
  expect_rewrite(functionalize, R"(graph "g" {
    %x: f32[3,2] = user "x"
    %0: f32[6] = aten.view(%x, [6])
    %1: f32[2,3] = aten.empty([2, 3], f32, none, none, none, none)
    %2: f32[2,3] = aten.t(%x)
    %3: f32[2,3] = aten.copy_(%1, %2, false)
    %4: f32[2,3] = aten.neg(%1)
    %5: f32[6] = aten.view(%4, [6])
    return "y": %5
  })",
                 R"(graph "g" {
    %x: f32[3,2] = user "x"
    %0: f32[6] = aten.view(%x, [6])
    %1: f32[2,3] = aten.empty([2, 3], f32, none, none, none, none)
    %2: f32[2,3] = aten.t(%x)
    %4: f32[2,3] = aten.neg(%2)
    %5: f32[6] = aten.reshape(%4, [6])
    return "y": %5
  })");
}

}  // namespace
}  // namespace merak::passes
