// Layouts against one process.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "testing/training.h"

namespace merak::testing {
namespace {

class Layouts : public ::testing::Test {
 protected:
  Layouts() : tokens_(folder_.path() / "tokens.u16") {
    write_tokens(tokens_, 700, 101);
  }

  TemporaryFolder folder_;
  std::filesystem::path tokens_;
};

std::string text(const config::Layout& layout) {
  return fmt::format("data {} pipeline {}", layout.data, layout.pipeline);
}

TEST_F(Layouts, PipelinesHaveTheBitsOfOneProcess) {
  for (const char* schedule : {"gpipe", "1f1b"}) {
    for (const bool dropout : {false, true}) {
      config::Config config = small_config(tokens_);
      config.parallel.schedule = schedule;
      if (dropout) config.model.config["resid_pdrop"] = 0.1;
      const Trained one = train(config, {1, 1, 1}, 4);
      for (const int pipeline : {2, 3, 4, 5}) {
        const config::Layout layout{1, 1, pipeline};
        SCOPED_TRACE(
            fmt::format("{} {} dropout {}", schedule, text(layout), dropout));
        const Trained many = train(config, layout, 4);
        // The two gradients of the tied weight may be added in another order.
        EXPECT_EQ(many.losses(), one.losses());
        for (const auto& [name, value] : one.parameters) {
          EXPECT_TRUE(at::equal(many.parameters.at(name), value)) << name;
        }
        for (const auto& [name, copies] : many.copies) {
          for (const at::Tensor& copy : copies) {
            EXPECT_TRUE(at::equal(copy, copies.front())) << name;
          }
        }
      }
    }
  }
}

// Cuts in the middle of everything: attention, views, residual sums.
TEST_F(Layouts, AsManyStagesAsShardsHaveTheBitsOfOneProcess) {
  config::Config config = small_config(tokens_);
  config.model.config["n_layer"] = 2;
  const Trained one = train(config, {1, 1, 1}, 2);
  for (const int pipeline : {11, 24, 45}) {
    SCOPED_TRACE(pipeline);
    const Trained many = train(config, {1, 1, pipeline}, 2);
    EXPECT_EQ(many.losses(), one.losses());
    EXPECT_EQ(many.grad_norms(), one.grad_norms());
  }
}

TEST_F(Layouts, DataLayoutsDifferByTheOrderOfSumsOnly) {
  config::Config config = small_config(tokens_);
  config.train.precision = "fp64";
  const Trained one = train(config, {1, 1, 1}, 4);
  for (const config::Layout& layout :
       {config::Layout{2, 1, 1}, {3, 1, 1}, {2, 1, 2}, {2, 1, 3}}) {
    SCOPED_TRACE(text(layout));
    const Trained many = train(config, layout, 4);
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
      EXPECT_NEAR(many.steps[i].loss / one.steps[i].loss, 1, 1e-12);
      EXPECT_NEAR(many.steps[i].grad_norm / one.steps[i].grad_norm, 1, 1e-12);
    }
    for (const auto& [name, value] : one.parameters) {
      EXPECT_LT(many.parameters.at(name).sub(value).abs().max().item<double>(),
                1e-9)
          << name;
    }
    for (const auto& [name, copies] : many.copies) {
      for (const at::Tensor& copy : copies) {
        EXPECT_TRUE(at::equal(copy, copies.front())) << name;
      }
    }
  }
}

}  // namespace
}  // namespace merak::testing
