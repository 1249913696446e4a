#include "merak/optim/optimizer.h"

#include <array>
#include <string_view>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/optim/adam.h"
#include "merak/optim/sgd.h"

namespace merak::optim {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<Optimizer> (*make)(const OptimizerOptions&,
                                     std::vector<Slot>);
};

constexpr std::array<Row, 3> kOptimizers = {
    {{"sgd", &make_sgd}, {"adam", &make_adam}, {"adamw", &make_adamw}}};

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Row& row : kOptimizers) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<Slot> slots) {
  for (const Row& row : kOptimizers) {
    if (row.name == options.name) return row.make(options, std::move(slots));
  }
  fail_usage("optimizer.name is \"{}\"; known are {}", options.name,
             join(optimizer_names(), ", "));
}

}  // namespace merak::optim
