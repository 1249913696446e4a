// What a rank does in one training step: a list of actions, each a small value.
//
// A stage is a consecutive part of the model (with several model chunks a rank,
// each chunk is a stage). Stages are numbered through the whole model, so that
// an action means the same on every rank. Values flow from lower stages to
// higher ones along edges; gradients flow back.
//
// Nothing here knows a graph, a tensor or a schedule's name: a schedule makes
// lists (registry.h), add_communication.h adds the messages, validate.h checks
// them, text.h writes and reads them, and merak/engine walks them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace merak::schedule {

enum class ActionType : std::uint8_t {
  kLoad,            // fetch the inputs of a micro-batch early
  kForward,         // loads what has not been loaded
  kRecompute,       // rebuild what forward dropped, before backward needs it
  kBackward,        // both of the next two
  kBackwardInput,   // the gradients that earlier stages wait for
  kBackwardWeight,  // the gradients of the stage's parameters
  kSendActivation,  // the values of an edge, forwards
  kReceiveActivation,
  kSendGradient,  // their gradients, back
  kReceiveGradient,
  kReduceGradients,      // of one stage, over the data ranks
  kReduceTiedGradients,  // of parameters that several stages hold
  kOptimizerStep,
};

inline constexpr int kNone = -1;

struct Action {
  ActionType type = ActionType::kForward;
  int stage = kNone;        // none: of the whole rank
  int micro_batch = kNone;  // none: of the whole step
  int peer = kNone;         // the stage at the other end of a message

  auto operator<=>(const Action&) const = default;
};

using ActionList = std::vector<Action>;       // of one rank, in order
using ActionLists = std::vector<ActionList>;  // by rank

Action load(int stage, int micro_batch);
Action forward(int stage, int micro_batch);
Action recompute(int stage, int micro_batch);
Action backward(int stage, int micro_batch);
Action backward_input(int stage, int micro_batch);
Action backward_weight(int stage, int micro_batch);
Action send_activation(int stage, int micro_batch, int to);
Action receive_activation(int stage, int micro_batch, int from);
Action send_gradient(int stage, int micro_batch, int to);
Action receive_gradient(int stage, int micro_batch, int from);
Action reduce_gradients(int stage);
Action reduce_tied_gradients();
Action optimizer_step();

bool is_compute(ActionType type);  // load to backward_weight
bool is_send(ActionType type);
bool is_receive(ActionType type);
bool is_message(ActionType type);
bool is_gradient_message(ActionType type);
bool makes_input_gradients(ActionType type);   // backward, backward_input
bool makes_weight_gradients(ActionType type);  // backward, backward_weight
bool ends_step(ActionType type);  // the two reductions, optimizer_step

// The same message as its other end sees it.
Action other_end(const Action& message);

// For people, without the micro-batch: "forward of stage 1", "receive of
// activations of stage 0 by stage 1", "optimizer step".
std::string describe(const Action& action);

}  // namespace merak::schedule
