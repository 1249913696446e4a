#include "merak/trace/deferred.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "merak/base/error.h"
#include "merak/trace/tensors.h"

namespace merak::trace {
namespace {

at::Tensor normal_weight(std::int64_t rows, std::int64_t columns) {
  return at::empty({rows, columns}).normal_(0.0, 0.5);
}

TEST(Deferred, ValuesDependOnSeedAndNameAlone) {
  Deferred one, other;
  const at::Tensor a = one.build([] { return normal_weight(7, 5); });
  // Another constructor, with other tensors around it.
  const at::Tensor b = other.build([] {
    normal_weight(3, 3);
    at::Tensor weight = normal_weight(7, 5);
    normal_weight(2, 2);
    return weight;
  });
  const at::Tensor value = one.materialize(a, "w", 1);
  EXPECT_TRUE(at::equal(value, other.materialize(b, "w", 1)));
  EXPECT_FALSE(at::equal(value, one.materialize(a, "w", 2)));
  EXPECT_FALSE(at::equal(value, one.materialize(a, "v", 1)));
  EXPECT_NEAR(value.std().item<double>(), 0.5, 0.2);
}

TEST(Deferred, ReplaysWritesThroughViews) {
  Deferred deferred;
  const at::Tensor table = deferred.build([] {
    at::Tensor made = at::ones({4, 3});
    made.select(0, 2).zero_();
    made.mul_(2.0);
    return made;
  });
  const at::Tensor value = deferred.materialize(table, "table", 1);
  EXPECT_TRUE(at::equal(value.select(0, 2), at::zeros({3})));
  EXPECT_TRUE(at::equal(value.select(0, 1), at::ones({3}) * 2));
}

TEST(Deferred, ConstructorMayReadValuesAndWriteData) {
  Deferred deferred;
  double read = 0;
  const auto [table, mask] = deferred.build([&] {
    read = at::linspace(0, 1, 5).select(0, 3).item<double>();
    std::vector<float> data(100000, 3.5F);
    return std::pair(torch::tensor(data), at::ones({4, 4}).tril());
  });
  EXPECT_DOUBLE_EQ(read, 0.75);
  const at::Tensor value = deferred.materialize(table, "table", 1);
  EXPECT_EQ(value.sum().item<double>(), 350000.0);
  EXPECT_EQ(deferred.materialize(mask, "mask", 1).sum().item<double>(), 10.0);
}

TEST(Deferred, TakesNoMemory) {
  Deferred deferred;
  // 4 TiB.
  const at::Tensor huge =
      deferred.build([] { return normal_weight(1 << 20, 1 << 20); });
  EXPECT_EQ(huge.numel(), std::int64_t{1} << 40);
}

TEST(Deferred, ForeignTensorIsAnInternalError) {
  const Deferred deferred;
  EXPECT_THROW(deferred.materialize(at::ones({2}), "w", 1), Error);
}

}  // namespace
}  // namespace merak::trace
