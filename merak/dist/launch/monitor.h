// The watch over TCP, for ranks that none of our launchers started: rank 0
// hosts it, every rank (rank 0 too) attaches its Heartbeat. When a rank is lost
// or silent, all get the same line and end; when rank 0 is, they notice that
// themselves.
//
// Rank 0 publishes address() and token() in the store. Connections without the
// token are dropped.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "merak/dist/launch/rank_watch.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

class Monitor {
 public:
  // `host`: the address to listen at; empty: all interfaces.
  Monitor(int ranks, const std::string& host, const WatchOptions& options);
  // Releases the ranks that are still attached: they go on unwatched.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  int port() const { return port_; }
  const std::string& token() const { return token_; }

 private:
  struct Connection {
    LineSocket socket;
    int rank = -1;  // until a right hello has come
  };

  void run();
  void accept_all();
  void read(Connection& connection, TimePoint now);
  void read_hello(Connection& connection, std::string_view rest, TimePoint now);
  void answer();
  // To rank 0 last: it takes this monitor with it.
  void broadcast(const std::string& line);

  int ranks_;
  std::string token_;
  FileDescriptor listener_;
  int port_ = 0;
  RankWatch watch_;                      // the thread's
  std::vector<Connection> connections_;  // the thread's
  FileDescriptor wake_read_, wake_write_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace merak::dist
