// How the launchers of several hosts act as one: node 0 listens at the
// rendezvous, the others connect. They start each attempt together, and a
// failure on one ends all, with the same line everywhere. A launcher that is
// silent for 8 s, or gone, counts as failed.
//
// Lines, of node i:  join NODE LOCAL_RANKS     (again before each attempt)
//                    failed EXIT_CODE LINE
//                    done
//                    alive
// and of node 0:     start FIRST_RANK WORLD_SIZE PORT
//                    failed EXIT_CODE LINE
//                    done                      (all nodes are)
//                    alive
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merak/dist/launch/rank_watch.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

// Where the ranks of an attempt stand and meet.
struct Placement {
  int first_rank = 0;
  int world_size = 1;
  std::string host;
  int port = 0;
  FileDescriptor listener;  // bound to `port`, on node 0
};

struct Failure {
  int exit_code = 1;
  std::string line;
};

struct NodeOptions {
  int nodes = 1;
  int node_rank = 0;
  int local_ranks = 1;
  std::string host;  // of the rendezvous; unused with one node
  int port = 0;
  std::chrono::milliseconds join_timeout{120000};
  std::chrono::milliseconds silence{8000};
};

// Used by one thread, that of launch().
class NodeLink {
 public:
  virtual ~NodeLink() = default;

  // Waits until all nodes are ready for the next attempt. Nothing if
  // `interrupted` says so; a runtime error that names the nodes which did not
  // come.
  virtual std::optional<Placement> next(
      const std::function<bool()>& interrupted) = 0;
  virtual void add_to_poll(std::vector<pollfd>& entries) const = 0;
  virtual void service(TimePoint now) = 0;
  virtual void report_failure(const Failure& failure) = 0;
  virtual void report_done() = 0;
  // Of any node, in this attempt.
  virtual std::optional<Failure> failure() const = 0;
  virtual bool all_done() const = 0;
};

std::unique_ptr<NodeLink> make_node_link(const NodeOptions& options);

}  // namespace merak::dist
