// Building a module without memory, and filling single parameters later.
//
//   trace::Deferred deferred;
//   auto model = deferred.build([] { return std::make_shared<Model>(...); });
//   at::Tensor weight = deferred.materialize(model->weight, "weight", seed);
//
// While the module's constructor runs, its tensors take address space and no
// pages, and every operator is written on a tape. materialize() replays just
// what led to one tensor. Random draws depend on (seed, name) and their order
// on that tensor, so a parameter has the same values on whichever rank holds
// it. Values that the constructor reads (`linspace(...).item()`) are computed
// on the spot.
//
// Keep the Deferred for as long as tensors are to be materialised. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "merak/trace/dispatch.h"

namespace merak::trace {

class InitTape;

class Deferred {
 public:
  Deferred();
  ~Deferred();

  template <typename Build>
  auto build(Build&& make) {
    const InterceptWhole intercept(sink());
    return make();
  }

  // A tensor of its own with the values that the constructor asked for.
  // Internal error for a tensor that this object did not see.
  at::Tensor materialize(const at::Tensor& deferred, const std::string& name,
                         std::uint64_t seed) const;

  // Whether `tensor` was made inside build().
  bool made(const at::Tensor& tensor) const;

 private:
  CallSink& sink();

  std::unique_ptr<InitTape> tape_;
};

}  // namespace merak::trace
