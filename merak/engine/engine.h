// Walks a rank's action list: one switch over what an action is, whichever
// schedule made the list.
//
// Sends go on in the background and let go of their memory as they end. The
// next receive of every lane is posted as soon as the one before is done, so
// that a message comes in while the rank computes. In blocking mode messages
// are posted and waited for in their place: the same numbers, for finding
// faults.
//
// A failure comes out with the rank's label, step, micro-batch and action in
// front, as the kind of error that it was; the step cannot be taken up again.
//
// One thread calls. The executor and the channels outlive the engine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "merak/dist/flight_recorder.h"
#include "merak/dist/peer_channels.h"
#include "merak/engine/stage_executor.h"
#include "merak/schedule/action.h"
#include "merak/schedule/edge.h"

namespace merak::engine {

struct EngineOptions {
  std::string label;  // "[pp1 dp0 tp0]", for errors
  bool blocking = false;
  // Told before every action; may be empty.
  std::function<void(std::int64_t step, int micro_batch,
                     const std::string& action)>
      on_action;
  dist::FlightRecorder* recorder = nullptr;  // may be null
};

struct StepTimes {
  double compute_seconds = 0;  // in load .. backward_weight
  double total_seconds = 0;
};

class Engine {
 public:
  // `channels` may be null if no action is a message. `rank_of_stage`: world
  // ranks.
  Engine(schedule::ActionList actions, std::span<const schedule::Edge> edges,
         std::span<const int> rank_of_stage, StageExecutor& executor,
         dist::PeerChannels* channels, EngineOptions options);
  // Waits for what is under way. After a failure of run() that may hang until
  // the other ranks end too: abort them first, or _exit.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  StepTimes run(std::int64_t step);

 private:
  struct Planned {
    schedule::Action action;
    std::string text;
    dist::Lane lane;       // of a message
    Accumulation weights;  // of a backward
  };
  struct Pending {
    const Planned* planned;
    dist::WorkHandle work;
  };
  // The receives of one lane, in order.
  struct Inbox {
    std::vector<const Planned*> receives;
    std::size_t posted = 0;
    std::deque<Pending> pending;
  };

  void plan(std::span<const schedule::Edge> edges,
            std::span<const int> rank_of_stage);
  void mark_accumulation();
  void perform(const Planned& planned);
  void send(const Planned& planned);
  void receive(const Planned& planned);
  void post_next(Inbox& inbox);
  void reap_sends();
  void finish_sends();
  void begin_step();
  void perform_watched(const Planned& planned, std::int64_t step);

  schedule::ActionList actions_;
  StageExecutor& executor_;
  dist::PeerChannels* channels_;
  EngineOptions options_;
  std::vector<Planned> plan_;
  std::map<dist::Lane, Inbox> inboxes_;
  std::vector<Pending> sends_;
};

}  // namespace merak::engine
