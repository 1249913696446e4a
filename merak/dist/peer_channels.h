// One-way channels between pairs of ranks, for what flows along a pipeline:
// each message is a list of memory parts, sent and received in the background.
//
// A lane is an ordered pair of ranks and a channel number, so that activations
// and gradients, or the two directions, never wait for each other. Each lane
// is a group of two of its own (with Gloo: connections of its own) and a
// thread that completes its messages in the order in which they were posted.
//
// Messages of a lane are matched by tag, and in order where tags are equal; the
// receiver names as many parts, of the same sizes, as the sender. Receives may
// be posted long before. Memory, threads and failures: as Communicator says;
// one thread posts.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "merak/dist/communicator.h"

namespace merak::dist {

struct Lane {
  int from = 0;  // world ranks
  int to = 0;
  int channel = 0;

  auto operator<=>(const Lane&) const = default;
};

struct MessagePart {
  void* data = nullptr;  // only read by a send
  std::size_t bytes = 0;
};

class PeerChannels {
 public:
  // `lanes` are those of the whole world, the same on all ranks, in any order.
  PeerChannels(GroupFactory& factory, std::vector<Lane> lanes);
  // Waits for what is under way. After a failure that may hang: see
  // Communicator.
  ~PeerChannels();
  PeerChannels(const PeerChannels&) = delete;
  PeerChannels& operator=(const PeerChannels&) = delete;

  // Work that is dropped still completes.
  WorkHandle send(int to, int channel, int tag,
                  std::span<const MessagePart> parts);
  WorkHandle receive(int from, int channel, int tag,
                     std::span<const MessagePart> parts);

 private:
  class LaneThread;
  LaneThread& lane(const Lane& key);

  int rank_;
  std::map<Lane, std::unique_ptr<LaneThread>> lanes_;  // of this rank
};

}  // namespace merak::dist
