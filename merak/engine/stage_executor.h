// What the engine asks of a rank's stages: the work behind each action.
// merak/runtime does it over LibTorch; tests put a stub here.
//
// The engine calls from one thread, in the order of the rank's action list,
// which schedule::validate has accepted.
#pragma once

#include <vector>

#include "merak/dist/peer_channels.h"
#include "merak/schedule/action.h"

namespace merak::engine {

// Where a micro-batch stands among those whose weight gradients a stage adds up
// in a step.
struct Accumulation {
  bool first = true;  // overwrite what the step before left
  bool last = true;   // the sum is complete: reduction may start
};

class StageExecutor {
 public:
  virtual ~StageExecutor() = default;

  virtual void load(int stage, int micro_batch) = 0;
  // Loads the micro-batch if it has not been loaded.
  virtual void forward(int stage, int micro_batch) = 0;
  virtual void recompute(int stage, int micro_batch) = 0;
  virtual void backward(int stage, int micro_batch, Accumulation weights) = 0;
  virtual void backward_input(int stage, int micro_batch) = 0;
  virtual void backward_weight(int stage, int micro_batch,
                               Accumulation weights) = 0;

  // The memory of a message. What goes out is there when the action comes and
  // stays until sent(); what comes in is written until received(), which takes
  // it over. Both ends of an edge have the same parts. A stage of the same rank
  // gets its values without a message.
  virtual std::vector<dist::MessagePart> outgoing(
      const schedule::Action& send) = 0;
  virtual void sent(const schedule::Action& send) = 0;
  virtual std::vector<dist::MessagePart> incoming(
      const schedule::Action& receive) = 0;
  virtual void received(const schedule::Action& receive) = 0;

  // Complete when they return. Reduction over the data ranks may have begun
  // under the last backward.
  virtual void reduce_tied_gradients() = 0;
  virtual void reduce_gradients(int stage) = 0;
  virtual void optimizer_step() = 0;
};

}  // namespace merak::engine
