#include "merak/schedule/action.h"

#include <fmt/core.h>

#include "merak/base/error.h"

namespace merak::schedule {

using enum ActionType;

Action load(int stage, int micro_batch) { return {kLoad, stage, micro_batch}; }

Action forward(int stage, int micro_batch) {
  return {kForward, stage, micro_batch};
}

Action recompute(int stage, int micro_batch) {
  return {kRecompute, stage, micro_batch};
}

Action backward(int stage, int micro_batch) {
  return {kBackward, stage, micro_batch};
}

Action backward_input(int stage, int micro_batch) {
  return {kBackwardInput, stage, micro_batch};
}

Action backward_weight(int stage, int micro_batch) {
  return {kBackwardWeight, stage, micro_batch};
}

Action send_activation(int stage, int micro_batch, int to) {
  return {kSendActivation, stage, micro_batch, to};
}

Action receive_activation(int stage, int micro_batch, int from) {
  return {kReceiveActivation, stage, micro_batch, from};
}

Action send_gradient(int stage, int micro_batch, int to) {
  return {kSendGradient, stage, micro_batch, to};
}

Action receive_gradient(int stage, int micro_batch, int from) {
  return {kReceiveGradient, stage, micro_batch, from};
}

Action reduce_gradients(int stage) { return {kReduceGradients, stage}; }

Action reduce_tied_gradients() { return {kReduceTiedGradients}; }

Action optimizer_step() { return {kOptimizerStep}; }

bool is_compute(ActionType type) { return type <= kBackwardWeight; }

bool is_send(ActionType type) {
  return type == kSendActivation || type == kSendGradient;
}

bool is_receive(ActionType type) {
  return type == kReceiveActivation || type == kReceiveGradient;
}

bool is_message(ActionType type) { return is_send(type) || is_receive(type); }

bool is_gradient_message(ActionType type) {
  return type == kSendGradient || type == kReceiveGradient;
}

bool makes_input_gradients(ActionType type) {
  return type == kBackward || type == kBackwardInput;
}

bool makes_weight_gradients(ActionType type) {
  return type == kBackward || type == kBackwardWeight;
}

bool ends_step(ActionType type) { return type >= kReduceGradients; }

namespace {

ActionType other_type(ActionType type) {
  switch (type) {
    case kSendActivation:
      return kReceiveActivation;
    case kReceiveActivation:
      return kSendActivation;
    case kSendGradient:
      return kReceiveGradient;
    case kReceiveGradient:
      return kSendGradient;
    default:
      MERAK_CHECK(false, "action type {} is no message",
                  static_cast<int>(type));
      return type;
  }
}

}  // namespace

Action other_end(const Action& message) {
  return {other_type(message.type), message.peer, message.micro_batch,
          message.stage};
}

std::string describe(const Action& action) {
  const auto of_stage = [&](std::string_view what) {
    return fmt::format("{} of stage {}", what, action.stage);
  };
  const auto message = [&](std::string_view what, int from, int to) {
    return fmt::format("{} of stage {} {} stage {}", what, from,
                       is_send(action.type) ? "to" : "by", to);
  };
  switch (action.type) {
    case kLoad:
      return of_stage("load");
    case kForward:
      return of_stage("forward");
    case kRecompute:
      return of_stage("recompute");
    case kBackward:
      return of_stage("backward");
    case kBackwardInput:
      return of_stage("input backward");
    case kBackwardWeight:
      return of_stage("weight backward");
    case kSendActivation:
      return message("send of activations", action.stage, action.peer);
    case kReceiveActivation:
      return message("receive of activations", action.peer, action.stage);
    case kSendGradient:
      return message("send of gradients", action.stage, action.peer);
    case kReceiveGradient:
      return message("receive of gradients", action.peer, action.stage);
    case kReduceGradients:
      return of_stage("gradient reduction");
    case kReduceTiedGradients:
      return "tied gradient reduction";
    case kOptimizerStep:
      return "optimizer step";
  }
  MERAK_CHECK(false, "action type {}", static_cast<int>(action.type));
  return {};
}

}  // namespace merak::schedule
