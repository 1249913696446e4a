// The parameters that a rank holds, and their gradients.
//
// A rank holds what its stages read and nothing else. Parameters are tensors of
// their own (exactly their bytes); gradients lie in flat buckets, so that
// data-parallel reduction sends few large messages. A tied parameter has a
// gradient for each use on this rank (partition/tied_uses.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "merak/runtime/compile.h"

namespace merak::runtime {

struct Parameter {
  std::string name;
  at::Tensor value;
  bool trainable = true;
  bool norm_owner = true;  // this rank counts it in the global norm
  // Gradients of its uses, by number of use; undefined for uses elsewhere.
  std::vector<at::Tensor> gradients;
  std::vector<int> stages;
  bool tied_across_stages() const { return stages.size() > 1; }
};

// Gradients that are reduced together: one flat tensor.
struct Bucket {
  at::Tensor flat;
  std::vector<std::string> uses;
};

class ParameterStore {
 public:
  // `fill` gives a parameter's value, as a tensor of its own.
  // `stages`: this rank's. `backward_order`: names of uses in the order in
  // which the last backward finishes them.
  ParameterStore(const CompiledModel& model, const std::vector<int>& stages,
                 const std::vector<std::string>& backward_order,
                 const std::function<at::Tensor(const ParameterInfo&)>& fill);

  std::vector<Parameter>& parameters() { return parameters_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::map<std::string, at::Tensor>& buffers() { return buffers_; }

  // By name of a use; internal error if it is not here.
  const at::Tensor& value(const std::string& use) const;
  const at::Tensor& gradient(const std::string& use) const;

  std::vector<Bucket>& buckets() { return buckets_; }
  // Which bucket a use's gradient lies in.
  std::size_t bucket_of(const std::string& use) const;

 private:
  void make_buckets(const std::vector<std::string>& backward_order);

  std::vector<Parameter> parameters_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, at::Tensor> gradients_;
  std::map<std::string, std::size_t> bucket_of_;
  std::map<std::string, at::Tensor> buffers_;
  std::vector<Bucket> buckets_;
};

}  // namespace merak::runtime
