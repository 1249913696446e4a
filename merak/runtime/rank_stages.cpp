#include "merak/runtime/rank_stages.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "merak/base/error.h"
#include "merak/trace/tensors.h"

namespace merak::runtime {
namespace {

using partition::BoundaryValue;
using partition::Edge;
using schedule::Action;

// The values that a message along an edge carries.
std::vector<BoundaryValue> values_of(const Edge& edge, bool gradients) {
  if (!gradients) return edge.values;
  std::vector<BoundaryValue> values;
  for (const BoundaryValue& value : edge.values) {
    if (value.gradient) values.push_back(value);
  }
  return values;
}

const Edge& edge_of(const std::vector<Edge>& edges, const Action& message) {
  const auto [source, destination] = std::minmax({message.stage, message.peer});
  for (const Edge& edge : edges) {
    if (edge.source == source && edge.destination == destination) return edge;
  }
  MERAK_CHECK(false, "there is no edge for the {}",
              schedule::describe(message));
  return edges.front();
}

std::vector<dist::MessagePart> parts_of(const std::vector<at::Tensor>& list) {
  std::vector<dist::MessagePart> parts;
  for (const at::Tensor& tensor : list) {
    parts.push_back({tensor.data_ptr(), tensor.nbytes()});
  }
  return parts;
}

}  // namespace

RankStages::RankStages(std::vector<std::unique_ptr<Stage>> stages,
                       const std::vector<Edge>& edges, GradientReducer& reducer,
                       c10::Device device)
    : edges_(edges), reducer_(reducer), device_(device) {
  for (std::unique_ptr<Stage>& item : stages) {
    const int index = item->index();
    stages_[index] = std::move(item);
  }
}

void RankStages::begin_step(StepInput input) {
  MERAK_CHECK(messages_.empty() && loaded_.empty(),
              "the step before is not over");
  input_ = std::move(input);
  losses_.clear();
  if (input_.training) reducer_.begin_step();
}

double RankStages::loss_sum() const {
  double sum = 0;
  for (const auto& [micro_batch, loss] : losses_) sum += loss;
  return sum;
}

bool RankStages::has_loss() const {
  return std::ranges::any_of(
      stages_, [](const auto& item) { return item.second->has_loss(); });
}

void RankStages::set_loss_seed(double seed) {
  for (auto& [index, item] : stages_) item->set_loss_seed(seed);
}

void RankStages::load(int index, int micro_batch) {
  bool& loaded = loaded_[{index, micro_batch}];
  if (std::exchange(loaded, true)) return;
  const auto [batch, position] = input_.batch(micro_batch);
  stage(index).load(micro_batch, batch, position);
}

void RankStages::forward(int index, int micro_batch) {
  load(index, micro_batch);
  Stage& here = stage(index);
  if (input_.training) {
    here.forward(micro_batch);
  } else {
    here.evaluate(micro_batch);
  }
  if (here.has_loss()) losses_[micro_batch] = here.loss_sum(micro_batch);
  pass_on(index, micro_batch, /*gradients=*/false);
  here.release_outputs(micro_batch);
  if (!input_.training) {
    here.forget(micro_batch);
    loaded_.erase({index, micro_batch});
  }
}

void RankStages::recompute(int index, int) {
  MERAK_CHECK(false, "stage {} has no program to recompute", index);
}

std::function<void(const std::string&)> RankStages::notifier(
    engine::Accumulation weights) {
  if (!weights.last) return {};
  return [this](const std::string& use) { reducer_.use_ready(use); };
}

void RankStages::backward(int index, int micro_batch,
                          engine::Accumulation weights) {
  stage(index).backward(micro_batch, weights.first, notifier(weights));
  pass_on(index, micro_batch, /*gradients=*/true);
  stage(index).forget(micro_batch);
  loaded_.erase({index, micro_batch});
}

void RankStages::backward_input(int index, int micro_batch) {
  stage(index).backward_input(micro_batch);
  pass_on(index, micro_batch, /*gradients=*/true);
}

void RankStages::backward_weight(int index, int micro_batch,
                                 engine::Accumulation weights) {
  stage(index).backward_weight(micro_batch, weights.first, notifier(weights));
  stage(index).forget(micro_batch);
  loaded_.erase({index, micro_batch});
}

// Gives what a stage has made to the stages that read it.
void RankStages::pass_on(int index, int micro_batch, bool gradients) {
  for (const Edge& edge : edges_) {
    if ((gradients ? edge.destination : edge.source) != index) continue;
    Tensors tensors;
    for (const BoundaryValue& value : values_of(edge, gradients)) {
      tensors.push_back(
          gradients ? stage(index).boundary_gradient(micro_batch, value.name)
                    : stage(index).output(micro_batch, value.name));
    }
    if (gradients && tensors.empty()) continue;
    const Action send =
        gradients
            ? schedule::send_gradient(index, micro_batch, edge.source)
            : schedule::send_activation(index, micro_batch, edge.destination);
    if (is_here(send.peer)) {
      deliver(schedule::other_end(send), std::move(tensors));
    } else {
      messages_[send] = std::move(tensors);
    }
  }
}

void RankStages::deliver(const Action& receive, Tensors tensors) {
  const bool gradients = schedule::is_gradient_message(receive.type);
  const auto values = values_of(edge_of(edges_, receive), gradients);
  load(receive.stage, receive.micro_batch);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (gradients) {
      stage(receive.stage)
          .set_output_gradient(receive.micro_batch, values[i].name,
                               receive.peer, std::move(tensors[i]));
    } else {
      stage(receive.stage)
          .set_boundary(receive.micro_batch, values[i].name,
                        std::move(tensors[i]));
    }
  }
}

std::vector<dist::MessagePart> RankStages::outgoing(const Action& send) {
  return parts_of(messages_.at(send));
}

void RankStages::sent(const Action& send) { messages_.erase(send); }

std::vector<dist::MessagePart> RankStages::incoming(const Action& receive) {
  Tensors& tensors = messages_[receive];
  for (const BoundaryValue& value :
       values_of(edge_of(edges_, receive),
                 schedule::is_gradient_message(receive.type))) {
    tensors.push_back(at::empty(
        value.type.shape, at::TensorOptions()
                              .dtype(trace::to_scalar_type(value.type.dtype))
                              .device(device_)));
  }
  return parts_of(tensors);
}

void RankStages::received(const Action& receive) {
  deliver(receive, std::move(messages_.extract(receive).mapped()));
}

void RankStages::reduce_tied_gradients() {
  reducer_.finish_buckets();
  reducer_.sum_tied();
}

// The buckets of a rank span its stages; the reduction above has waited for
// all of them.
void RankStages::reduce_gradients(int) {}

void RankStages::optimizer_step() { input_.update(); }

}  // namespace merak::runtime
