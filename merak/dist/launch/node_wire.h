// What both sides of a NodeLink share: the connection and its lines.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merak/dist/launch/node_link.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

inline constexpr int kNodeTickMs = 200;
inline constexpr std::chrono::milliseconds kNodeLastWords{1000};

TimePoint clock_now();
double seconds_of(std::chrono::steady_clock::duration time);

std::string to_text(const Failure& failure);   // "failed EXIT_CODE LINE"
Failure parse_failure(std::string_view rest);  // without the first word

// One connection between launchers.
class NodeWire {
 public:
  explicit NodeWire(FileDescriptor fd);

  LineSocket& socket() { return socket_; }
  const LineSocket& socket() const { return socket_; }
  std::vector<std::string> read(TimePoint now);
  std::chrono::steady_clock::duration silent_for(TimePoint now) const;
  void keep_alive(TimePoint now);  // tells the other side, once a second
  void say_and_drain(const std::string& line);

 private:
  LineSocket socket_;
  TimePoint heard_;
  TimePoint told_;
};

std::unique_ptr<NodeLink> make_first_node(const NodeOptions& options);
std::unique_ptr<NodeLink> make_other_node(const NodeOptions& options);

}  // namespace merak::dist
