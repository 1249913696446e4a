#include "merak/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "merak/base/error.h"
#include "merak/engine/lanes.h"

namespace merak::engine {
namespace {

using schedule::Action;
using schedule::ActionType;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// "[pp1 dp0 tp0] step 3, micro-batch 2, forward of stage 1".
std::string place(const std::string& label, std::int64_t step,
                  const Action& action, const std::string& text) {
  std::string where = label.empty() ? "" : label + " ";
  where += fmt::format("step {}, ", step);
  if (action.micro_batch != schedule::kNone) {
    where += fmt::format("micro-batch {}, ", action.micro_batch);
  }
  return where + text;
}

}  // namespace

Engine::Engine(schedule::ActionList actions,
               std::span<const schedule::Edge> edges,
               std::span<const int> rank_of_stage, StageExecutor& executor,
               dist::PeerChannels* channels, EngineOptions options)
    : actions_(std::move(actions)),
      executor_(executor),
      channels_(channels),
      options_(std::move(options)) {
  plan(edges, rank_of_stage);
  mark_accumulation();
}

Engine::~Engine() {
  // After a failure their memory must outlast them; what they throw has been
  // reported by the one that failed first.
  const auto drain = [](auto& pending) {
    for (Pending& item : pending) {
      try {
        item.work->wait();
      } catch (const Error&) {
      }
    }
  };
  drain(sends_);
  for (auto& [lane, inbox] : inboxes_) drain(inbox.pending);
}

void Engine::plan(std::span<const schedule::Edge> edges,
                  std::span<const int> rank_of_stage) {
  plan_.reserve(actions_.size());  // inboxes point to its elements
  for (const Action& action : actions_) {
    Planned& planned =
        plan_.emplace_back(Planned{action, schedule::describe(action), {}, {}});
    if (!schedule::is_message(action.type)) continue;
    MERAK_CHECK(channels_ != nullptr, "there are no channels for the {}",
                planned.text);
    planned.lane = lane_of(action, edges, rank_of_stage);
    if (schedule::is_receive(action.type)) {
      inboxes_[planned.lane].receives.push_back(&planned);
    }
  }
}

void Engine::mark_accumulation() {
  std::map<int, Planned*> last;
  for (Planned& planned : plan_) {
    if (!schedule::makes_weight_gradients(planned.action.type)) continue;
    const auto [found, first] = last.try_emplace(planned.action.stage, nullptr);
    if (!first) found->second->weights.last = false;
    planned.weights = {.first = first, .last = true};
    found->second = &planned;
  }
}

StepTimes Engine::run(std::int64_t step) {
  const Clock::time_point begin = Clock::now();
  StepTimes times;
  begin_step();
  for (const Planned& planned : plan_) {
    const Clock::time_point action_begin = Clock::now();
    perform_watched(planned, step);
    if (schedule::is_compute(planned.action.type)) {
      times.compute_seconds += seconds_since(action_begin);
    }
  }
  finish_sends();
  times.total_seconds = seconds_since(begin);
  return times;
}

void Engine::begin_step() {
  for (auto& [lane, inbox] : inboxes_) {
    inbox.posted = 0;
    if (!options_.blocking) post_next(inbox);
  }
}

void Engine::perform_watched(const Planned& planned, std::int64_t step) {
  const Action& action = planned.action;
  if (options_.on_action) {
    options_.on_action(step, action.micro_batch, planned.text);
  }
  std::uint64_t entry = 0;
  if (options_.recorder != nullptr) {
    entry = options_.recorder->begin("action", step, action.micro_batch,
                                     planned.text);
  }
  const auto where = [&] {
    return place(options_.label, step, action, planned.text);
  };
  try {
    perform(planned);
    reap_sends();
  } catch (const dist::PeerError& error) {
    throw dist::PeerError(fmt::format("{}: {}", where(), error.what()));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", where(), error.what()));
  }
  if (options_.recorder != nullptr) options_.recorder->end(entry);
}

void Engine::perform(const Planned& planned) {
  const Action& action = planned.action;
  switch (action.type) {
    case ActionType::kLoad:
      return executor_.load(action.stage, action.micro_batch);
    case ActionType::kForward:
      return executor_.forward(action.stage, action.micro_batch);
    case ActionType::kRecompute:
      return executor_.recompute(action.stage, action.micro_batch);
    case ActionType::kBackward:
      return executor_.backward(action.stage, action.micro_batch,
                                planned.weights);
    case ActionType::kBackwardInput:
      return executor_.backward_input(action.stage, action.micro_batch);
    case ActionType::kBackwardWeight:
      return executor_.backward_weight(action.stage, action.micro_batch,
                                       planned.weights);
    case ActionType::kSendActivation:
    case ActionType::kSendGradient:
      return send(planned);
    case ActionType::kReceiveActivation:
    case ActionType::kReceiveGradient:
      return receive(planned);
    case ActionType::kReduceGradients:
      return executor_.reduce_gradients(action.stage);
    case ActionType::kReduceTiedGradients:
      return executor_.reduce_tied_gradients();
    case ActionType::kOptimizerStep:
      return executor_.optimizer_step();
  }
}

void Engine::send(const Planned& planned) {
  const auto parts = executor_.outgoing(planned.action);
  // One lane has one edge and one direction, so order alone matches messages.
  sends_.push_back({&planned, channels_->send(planned.lane.to,
                                              planned.lane.channel, 0, parts)});
  if (options_.blocking) finish_sends();
}

void Engine::post_next(Inbox& inbox) {
  if (inbox.posted == inbox.receives.size()) return;
  const Planned* planned = inbox.receives[inbox.posted++];
  const auto parts = executor_.incoming(planned->action);
  inbox.pending.push_back(
      {planned, channels_->receive(planned->lane.from, planned->lane.channel, 0,
                                   parts)});
}

void Engine::receive(const Planned& planned) {
  Inbox& inbox = inboxes_.at(planned.lane);
  if (inbox.pending.empty()) post_next(inbox);
  const Pending message = std::move(inbox.pending.front());
  inbox.pending.pop_front();
  MERAK_CHECK(message.planned == &planned, "{} came for {}",
              message.planned->text, planned.text);
  message.work->wait();
  executor_.received(planned.action);
  if (!options_.blocking) post_next(inbox);
}

void Engine::reap_sends() {
  std::erase_if(sends_, [&](const Pending& item) {
    if (!item.work->done()) return false;
    item.work->wait();
    executor_.sent(item.planned->action);
    return true;
  });
}

void Engine::finish_sends() {
  while (!sends_.empty()) {
    const Pending item = std::move(sends_.front());
    sends_.erase(sends_.begin());
    item.work->wait();
    executor_.sent(item.planned->action);
  }
}

}  // namespace merak::engine
