// Many ranks in one process, each a thread: for tests, `verify`, and the
// reference of the other implementations. Sums are in rank order, so results
// are deterministic.
#pragma once

#include <memory>
#include <string>

#include "merak/dist/communicator.h"

namespace merak::dist {

class InProcessState;

// The shared memory of the ranks. It may be destroyed before its factories and
// communicators, which keep what they need.
class InProcessWorld {
 public:
  explicit InProcessWorld(int size);

  // Safe to call from the rank's own thread, once a rank.
  std::unique_ptr<GroupFactory> factory(int rank) const;

  // Makes every pending and later wait() and post throw a PeerError with
  // this reason; the first reason stays. From any thread.
  void abort(const std::string& reason) const;

 private:
  int size_;
  std::shared_ptr<InProcessState> state_;
};

}  // namespace merak::dist
