// Decides, from what is heard of the ranks, whether the run must end and who
// is to blame. Pure: time and events come in as arguments, so that it is
// tested without processes. Launcher and Monitor feed it.
//
// When one rank dies, its peers fail a moment later because their connections
// break. So a failure is not believed at once: for `settle` (longer if all that
// is known are failures that blame a peer) other causes may come in, and the
// most original one is named.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace merak::dist {

using TimePoint = std::chrono::steady_clock::time_point;

// What a rank is doing: the content of a heartbeat.
struct Progress {
  std::int64_t sequence = 0;      // actions begun so far
  std::int64_t step = -1;         // -1: before the first one
  std::int64_t micro_batch = -1;  // -1: of no single one
  std::string action;             // "forward of stage 1"

  bool operator==(const Progress&) const = default;
};

// " at step 17, micro-batch 4, forward of stage 1"; " before its first step".
std::string where(const Progress& progress);

struct WatchOptions {
  std::chrono::milliseconds silence{8000};  // without a heartbeat
  std::chrono::milliseconds stopped{3000};  // in process state T
  // Heartbeats that tell of no new action; 0: for ever. Larger than the
  // longest action and the longest pause, such as a checkpoint.
  std::chrono::milliseconds no_progress{0};
  std::chrono::milliseconds settle{300};
  std::chrono::milliseconds settle_peer{1500};
};

// Why the run ends. `line` is for the user: it names rank, label, what
// happened, step, micro-batch and action.
struct Verdict {
  int rank = 0;
  int exit_code = 1;  // of the rank; 128 + n for signal n
  std::string line;
};

class RankWatch {
 public:
  // Watches ranks first ... first + count - 1.
  RankWatch(int first, int count, const WatchOptions& options);

  // Only ranks that said hello are expected to send heartbeats and a goodbye;
  // others are judged by how they exit.
  void hello(int rank, const std::string& label, TimePoint now);
  void beat(int rank, const Progress& progress, TimePoint now);
  // The rank is alive, though it sends nothing (a debugger holds it).
  void alive(int rank, TimePoint now);
  // The rank's own report. `because_of_peer`: it lost another rank.
  void failed(int rank, bool because_of_peer, const std::string& reason,
              TimePoint now);
  void goodbye(int rank);
  void disconnected(int rank, TimePoint now);  // for want of its exit status
  void exited(int rank, int exit_code, int signal, TimePoint now);
  void set_stopped(int rank, bool stopped, TimePoint now);

  // Called regularly. A pause of over 2 s between calls means that the watcher
  // itself was stopped: it is not held against the ranks.
  std::optional<Verdict> check(TimePoint now);
  bool suspicious() const;  // a verdict will come

  const Progress& progress(int rank) const;
  const std::string& label(int rank) const;  // empty before hello

 private:
  // Lower is nearer to the origin.
  enum class Cause : std::uint8_t { kOwn, kUnexplained, kPeer };
  struct Suspicion {
    Cause cause = Cause::kOwn;
    TimePoint since;
    int exit_code = 1;
    std::string what;  // "was killed by signal 9"
    std::string details;
  };
  struct Rank {
    std::string label;
    Progress progress;
    bool said_hello = false;
    bool ended = false;  // in order, or its end is accounted for
    TimePoint heard;
    TimePoint moved;  // when progress changed
    std::optional<TimePoint> stopped_since;
    std::optional<Suspicion> suspicion;
  };

  Rank& at(int rank);
  const Rank& at(int rank) const;
  void suspect(Rank& rank, const Suspicion& suspicion);
  void forgive_pause(TimePoint now);
  void look_for_silence(Rank& rank, TimePoint now);
  void look_for_standstill(TimePoint now);
  std::string line_of(int rank, const Suspicion& suspicion) const;

  int first_;
  WatchOptions options_;
  std::vector<Rank> ranks_;
  std::optional<TimePoint> checked_;
};

}  // namespace merak::dist
