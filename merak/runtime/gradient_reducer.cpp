#include "merak/runtime/gradient_reducer.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <map>
#include <set>

#include "merak/base/error.h"
#include "merak/partition/tied_uses.h"
#include "merak/trace/tensors.h"

namespace merak::runtime {
namespace {

// By use of a tied parameter: the stage that reads it.
std::vector<int> stages_of_uses(const CompiledModel& model,
                                const ParameterInfo& info) {
  std::vector<int> stages;
  for (int use = 0; use < info.uses; ++use) {
    for (int stage : info.stages) {
      const auto& graph =
          model.staged.stages[static_cast<std::size_t>(stage)].graph;
      if (graph.find_input(graph::InputKind::kParameter,
                           partition::use_name(info.name, use)) != nullptr) {
        stages.push_back(stage);
      }
    }
  }
  return stages;
}

}  // namespace

std::vector<TiedGroup> make_tied_groups(const CompiledModel& model,
                                        const std::vector<int>& rank_of_stage,
                                        const dist::Mesh& mesh,
                                        dist::GroupFactory& factory) {
  std::vector<TiedGroup> groups;
  for (const ParameterInfo& info : model.parameters) {
    std::vector<int> pipeline_of_use;
    for (int stage : stages_of_uses(model, info)) {
      pipeline_of_use.push_back(rank_of_stage[static_cast<std::size_t>(stage)]);
    }
    const std::set<int> owners(pipeline_of_use.begin(), pipeline_of_use.end());
    if (owners.size() < 2 || !info.trainable) continue;
    std::map<int, int> place;  // of a pipeline rank in the group
    for (int owner : owners)
      place.emplace(owner, static_cast<int>(place.size()));
    std::vector<int> owner_of_use;
    for (int pipeline : pipeline_of_use) {
      owner_of_use.push_back(place.at(pipeline));
    }
    for (int data = 0; data < mesh.degree(dist::Axis::kData); ++data) {
      for (int tensor = 0; tensor < mesh.degree(dist::Axis::kTensor);
           ++tensor) {
        std::vector<int> members;
        for (int owner : owners) {
          members.push_back(mesh.rank({owner, data, tensor}));
        }
        auto group = factory.make_group(
            fmt::format("tied:{}:dp{}:tp{}", info.name, data, tensor), members);
        if (group) {
          groups.push_back({info.name, owner_of_use, std::move(group)});
        }
      }
    }
  }
  return groups;
}

const at::Tensor& gradient_of(const Parameter& parameter) {
  for (const at::Tensor& gradient : parameter.gradients) {
    if (gradient.defined()) return gradient;
  }
  MERAK_CHECK(false, "'{}' has no gradient here", parameter.name);
  return parameter.value;
}

dist::Buffer buffer_of(const at::Tensor& tensor) {
  MERAK_CHECK(tensor.is_contiguous(), "a message must be contiguous");
  return {tensor.data_ptr(), tensor.numel(),
          trace::to_dtype(tensor.scalar_type())};
}

GradientReducer::GradientReducer(ParameterStore& parameters,
                                 dist::Communicator* data,
                                 std::vector<TiedGroup> tied)
    : parameters_(parameters), data_(data), tied_(std::move(tied)) {}

void GradientReducer::begin_step() {
  missing_.clear();
  for (const Bucket& bucket : parameters_.buckets()) {
    missing_.push_back(bucket.uses.size());
  }
  started_.assign(missing_.size(), false);
  works_.clear();
}

void GradientReducer::use_ready(const std::string& use) {
  const std::size_t bucket = parameters_.bucket_of(use);
  if (--missing_.at(bucket) == 0) start(bucket);
}

void GradientReducer::start(std::size_t bucket) {
  started_[bucket] = true;
  if (data_ == nullptr || data_->size() < 2) return;
  works_.push_back(data_->all_reduce(
      buffer_of(parameters_.buckets()[bucket].flat), dist::ReduceOp::kSum));
}

void GradientReducer::finish_buckets() {
  for (std::size_t i = 0; i < started_.size(); ++i) {
    if (!started_[i]) start(i);
  }
  for (dist::WorkHandle& work : works_) work->wait();
  works_.clear();
}

void GradientReducer::sum_tied() {
  for (Parameter& parameter : parameters_.parameters()) {
    if (parameter.gradients.size() < 2) continue;
    const auto tied =
        std::find_if(tied_.begin(), tied_.end(), [&](const TiedGroup& item) {
          return item.parameter == parameter.name;
        });
    if (tied == tied_.end()) {
      sum_local(parameter);
    } else {
      sum_over_group(parameter, *tied);
    }
  }
}

void GradientReducer::sum_local(Parameter& parameter) {
  at::Tensor sum;
  for (at::Tensor& gradient : parameter.gradients) {
    if (!gradient.defined()) continue;
    if (sum.defined()) {
      sum.add_(gradient);
    } else {
      sum = gradient;
    }
  }
}

void GradientReducer::sum_over_group(Parameter& parameter, TiedGroup& tied) {
  const at::Tensor own = gradient_of(parameter);
  // Two uses on two ranks: a + b has the same bits as b + a.
  if (tied.owner_of_use.size() == 2) {
    tied.group->all_reduce(buffer_of(own), dist::ReduceOp::kSum)->wait();
    return;
  }
  at::Tensor sum;
  for (std::size_t use = 0; use < tied.owner_of_use.size(); ++use) {
    const at::Tensor& here = parameter.gradients[use];
    at::Tensor part = here.defined() ? here.clone() : at::empty_like(own);
    tied.group->broadcast(buffer_of(part), tied.owner_of_use[use])->wait();
    if (sum.defined()) {
      sum.add_(part);
    } else {
      sum = part;
    }
  }
  at::Tensor(own).copy_(sum);
}

}  // namespace merak::runtime
