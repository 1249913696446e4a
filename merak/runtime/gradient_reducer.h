// Sums gradients over ranks: buckets over the data ranks, and the uses of tied
// parameters over the stages that read them.
//
// A bucket's all-reduce starts as soon as the last backward has finished its
// last gradient, and runs while the backward goes on. Tied parameters are
// summed use by use in the order of the model's shards, after their buckets, so
// that every copy gets the same bits as one process would.
//
// One thread. All ranks of a group call in the same order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "merak/dist/communicator.h"
#include "merak/dist/mesh.h"
#include "merak/runtime/parameters.h"

namespace merak::runtime {

// Groups of ranks that hold copies of a tied parameter. All ranks of the world
// make them, in the same order. `rank_of_stage`: the pipeline coordinate of
// each stage.
struct TiedGroup {
  std::string parameter;
  std::vector<int> owner_of_use;  // by use: the rank in the group
  std::unique_ptr<dist::Communicator> group;
};
std::vector<TiedGroup> make_tied_groups(const CompiledModel& model,
                                        const std::vector<int>& rank_of_stage,
                                        const dist::Mesh& mesh,
                                        dist::GroupFactory& factory);

class GradientReducer {
 public:
  // `data`: null or of size 1 where there is nothing to sum over.
  GradientReducer(ParameterStore& parameters, dist::Communicator* data,
                  std::vector<TiedGroup> tied);

  void begin_step();
  // The gradient of this use is complete on this rank.
  void use_ready(const std::string& use);
  // Starts what has not started, and waits for all of it.
  void finish_buckets();
  // Behind finish_buckets: Parameter::gradients of tied parameters then hold
  // the sum in their first defined tensor.
  void sum_tied();

 private:
  void start(std::size_t bucket);
  void sum_local(Parameter& parameter);
  void sum_over_group(Parameter& parameter, TiedGroup& tied);

  ParameterStore& parameters_;
  dist::Communicator* data_;
  std::vector<TiedGroup> tied_;
  std::vector<std::size_t> missing_;  // by bucket: uses not ready yet
  std::vector<bool> started_;
  std::vector<dist::WorkHandle> works_;
};

// The tensor that holds a parameter's summed gradient.
const at::Tensor& gradient_of(const Parameter& parameter);

dist::Buffer buffer_of(const at::Tensor& tensor);

}  // namespace merak::runtime
