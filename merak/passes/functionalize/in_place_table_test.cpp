#include "merak/passes/functionalize/in_place_table.h"

#include <gtest/gtest.h>

namespace merak::passes {
namespace {

std::string pure_op(std::string_view op) {
  const auto form = pure_form(op);
  return form && form->kind == PureKind::kOperator ? form->op : "";
}

TEST(PureForm, FollowsTheNames) {
  EXPECT_EQ(pure_op("aten.add_.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(pure_op("aten.relu_"), "aten.relu");
  EXPECT_EQ(pure_op("aten.__iand__.Scalar"), "aten.__and__.Scalar");
  EXPECT_EQ(pure_op("aten._index_put_impl_"), "aten._index_put_impl");
  EXPECT_EQ(pure_op("aten.mm.out"), "aten.mm");
  EXPECT_EQ(pure_op("aten.eq.Scalar_out"), "aten.eq.Scalar");
  EXPECT_EQ(pure_op("aten.gelu_backward.grad_input"), "aten.gelu_backward");
}

TEST(PureForm, KnowsTheExceptions) {
  EXPECT_EQ(pure_op("aten.pow_.Scalar"), "aten.pow.Tensor_Scalar");
  EXPECT_EQ(pure_op("aten.bernoulli_.float"), "aten.bernoulli.p");
  EXPECT_EQ(pure_op("aten.add.out"), "aten.add.Tensor");
  EXPECT_EQ(pure_op("aten.sum.IntList_out"), "aten.sum.dim_IntList");
  EXPECT_EQ(pure_op("aten.topk.values"), "aten.topk");
}

TEST(PureForm, TellsKindsApart) {
  EXPECT_EQ(pure_form("aten.copy_")->kind, PureKind::kBroadcast);
  EXPECT_EQ(pure_form("aten.fill_.Tensor")->kind, PureKind::kBroadcast);
  EXPECT_EQ(pure_form("aten.fill_.Scalar")->kind, PureKind::kFull);
  EXPECT_EQ(pure_form("aten.zero_")->kind, PureKind::kZeros);
  EXPECT_EQ(pure_form("aten.requires_grad_")->kind, PureKind::kNothing);
  EXPECT_EQ(pure_form("aten.transpose_")->kind, PureKind::kView);
  EXPECT_EQ(pure_form("aten.transpose_")->op, "aten.transpose.int");
}

TEST(PureForm, IsNotGuessed) {
  for (const char* op :
       {"aten.resize_", "aten.set_.source_Tensor", "aten._foreach_mul_.Scalar",
        "aten.fill_diagonal_", "aten.zeros.out", "aten.full_like.out",
        "aten.empty.memory_format_out", "aten._native_batch_norm_legit",
        "aten._native_batch_norm_legit.out", "merak.odd_"}) {
    EXPECT_FALSE(pure_form(op).has_value()) << op;
  }
}

}  // namespace
}  // namespace merak::passes
