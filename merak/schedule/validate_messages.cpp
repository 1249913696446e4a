#include <algorithm>
#include <map>
#include <utility>

#include "merak/base/error.h"
#include "merak/schedule/text.h"
#include "merak/schedule/validate_parts.h"

namespace merak::schedule {

namespace {

using enum ActionType;

// A channel: sending stage, receiving stage. Its direction tells activations
// from gradients.
using Channel = std::pair<int, int>;

Channel channel_of(const Action& message) {
  if (is_send(message.type)) return {message.stage, message.peer};
  return {message.peer, message.stage};
}

// One end of a channel: where its messages are in its rank's list.
struct End {
  std::size_t rank = 0;
  std::vector<std::size_t> places;
};

std::map<Channel, End> ends_of(const ActionLists& lists,
                               bool (*side)(ActionType)) {
  std::map<Channel, End> ends;
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    for (std::size_t index = 0; index < lists[rank].size(); ++index) {
      const Action& action = lists[rank][index];
      if (!side(action.type)) continue;
      End& end = ends[channel_of(action)];
      end.rank = rank;
      end.places.push_back(index);
    }
  }
  return ends;
}

// Runs the lists as ranks with blocking messages would.
class Rendezvous {
 public:
  Rendezvous(const ActionLists& lists, const std::vector<int>& rank_of_stage)
      : lists_(lists), ranks_(rank_of_stage), next_(lists.size(), 0) {}

  void run() {
    for (bool moved = true; moved;) {
      moved = pass_barrier();
      for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
        while (advance(rank)) moved = true;
      }
    }
    for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
      if (head(rank)) fail_stuck(rank);
    }
  }

 private:
  const Action* head(std::size_t rank) const {
    const std::size_t index = next_[rank];
    return index < lists_[rank].size() ? &lists_[rank][index] : nullptr;
  }

  static bool is_barrier(ActionType type) {
    return type == kReduceTiedGradients || type == kOptimizerStep;
  }

  std::size_t peer_rank(const Action& message) const {
    return static_cast<std::size_t>(
        ranks_[static_cast<std::size_t>(message.peer)]);
  }

  bool advance(std::size_t rank) {
    const Action* action = head(rank);
    if (!action || is_barrier(action->type)) return false;
    if (is_message(action->type)) {
      const std::size_t peer = peer_rank(*action);
      const Action* theirs = head(peer);
      if (!theirs || *theirs != other_end(*action)) return false;
      ++next_[peer];
    }
    ++next_[rank];
    return true;
  }

  bool pass_barrier() {
    const Action* first = head(0);
    if (!first || !is_barrier(first->type)) return false;
    for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
      const Action* action = head(rank);
      if (!action || action->type != first->type) return false;
    }
    for (std::size_t& next : next_) ++next;
    return true;
  }

  // The rank that `rank` waits for: the peer, or one that is not at the
  // barrier.
  std::size_t waits_for(std::size_t rank) const {
    const Action& action = *head(rank);
    if (is_message(action.type)) return peer_rank(action);
    for (std::size_t other = 0; other < lists_.size(); ++other) {
      const Action* theirs = head(other);
      if (!theirs || theirs->type != action.type) return other;
    }
    return rank;
  }

  [[noreturn]] void fail_stuck(std::size_t rank) const {
    const std::size_t other = waits_for(rank);
    fail_usage("{}: it waits for ever; meanwhile {}",
               locate(lists_, rank, next_[rank]),
               locate(lists_, other, next_[other]));
  }

  const ActionLists& lists_;
  const std::vector<int>& ranks_;
  std::vector<std::size_t> next_;
};

}  // namespace

void check_channel_order(const ActionLists& lists) {
  const std::map<Channel, End> senders = ends_of(lists, is_send);
  const std::map<Channel, End> receivers = ends_of(lists, is_receive);
  MERAK_CHECK(senders.size() == receivers.size(), "{} sending, {} receiving",
              senders.size(), receivers.size());
  for (const auto& [channel, sender] : senders) {
    const End& receiver = receivers.at(channel);
    MERAK_CHECK(sender.places.size() == receiver.places.size(),
                "channel {} to {}", channel.first, channel.second);
    for (std::size_t i = 0; i < sender.places.size(); ++i) {
      const Action& sent = lists[sender.rank][sender.places[i]];
      const Action& received = lists[receiver.rank][receiver.places[i]];
      if (received == other_end(sent)) continue;
      fail_usage("{}: it should be {}, to match {}",
                 locate(lists, receiver.rank, receiver.places[i]),
                 to_text(other_end(sent)),
                 locate(lists, sender.rank, sender.places[i]));
    }
  }
}

void check_rendezvous(const ActionLists& lists,
                      const std::vector<int>& rank_of_stage) {
  Rendezvous(lists, rank_of_stage).run();
}

}  // namespace merak::schedule
