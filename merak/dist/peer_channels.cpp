#include "merak/dist/peer_channels.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "merak/base/error.h"
#include "merak/dist/thread.h"

namespace merak::dist {

namespace {

// The state that a message's handle shares with the lane's thread.
struct Completion {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr error;

  void finish(std::exception_ptr failure) {
    const std::lock_guard lock(mutex);
    done = true;
    error = std::move(failure);
    changed.notify_all();
  }
};

class MessageWork : public Work {
 public:
  explicit MessageWork(std::shared_ptr<Completion> completion)
      : completion_(std::move(completion)) {}
  void wait() override {
    std::unique_lock lock(completion_->mutex);
    completion_->changed.wait(lock, [this] { return completion_->done; });
    if (completion_->error) std::rethrow_exception(completion_->error);
  }
  bool done() const override {
    const std::lock_guard lock(completion_->mutex);
    return completion_->done;
  }

 private:
  std::shared_ptr<Completion> completion_;
};

}  // namespace

class PeerChannels::LaneThread {
 public:
  explicit LaneThread(std::unique_ptr<Communicator> group)
      : group_(std::move(group)), thread_(start_thread([this] { run(); })) {}

  ~LaneThread() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;

  Communicator& group() { return *group_; }

  WorkHandle add(std::vector<WorkHandle> parts) {
    auto completion = std::make_shared<Completion>();
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({std::move(parts), completion});
    }
    changed_.notify_all();
    return std::make_unique<MessageWork>(std::move(completion));
  }

 private:
  struct Message {
    std::vector<WorkHandle> parts;
    std::shared_ptr<Completion> completion;
  };

  void run() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Message message = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      std::exception_ptr error;
      try {
        for (const WorkHandle& part : message.parts) part->wait();
      } catch (...) {
        error = std::current_exception();
      }
      message.completion->finish(error);
    }
  }

  std::unique_ptr<Communicator> group_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> queue_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

PeerChannels::PeerChannels(GroupFactory& factory, std::vector<Lane> lanes)
    : rank_(factory.rank()) {
  std::ranges::sort(lanes);
  const auto repeated = std::ranges::unique(lanes);
  lanes.erase(repeated.begin(), repeated.end());
  for (const Lane& each : lanes) {
    const int pair[] = {each.from, each.to};
    auto group = factory.make_group(
        fmt::format("lane.{}-{}.{}", each.from, each.to, each.channel), pair);
    if (!group) continue;
    lanes_[each] = std::make_unique<LaneThread>(std::move(group));
  }
}

PeerChannels::~PeerChannels() = default;

PeerChannels::LaneThread& PeerChannels::lane(const Lane& key) {
  const auto found = lanes_.find(key);
  MERAK_CHECK(found != lanes_.end(), "there is no lane {} from rank {} to {}",
              key.channel, key.from, key.to);
  return *found->second;
}

WorkHandle PeerChannels::send(int to, int channel, int tag,
                              std::span<const MessagePart> parts) {
  LaneThread& thread = lane({rank_, to, channel});
  std::vector<WorkHandle> works;
  for (const MessagePart& part : parts) {
    const auto* data = static_cast<const std::byte*>(part.data);
    works.push_back(thread.group().send({data, part.bytes}, 1, tag));
  }
  return thread.add(std::move(works));
}

WorkHandle PeerChannels::receive(int from, int channel, int tag,
                                 std::span<const MessagePart> parts) {
  LaneThread& thread = lane({from, rank_, channel});
  std::vector<WorkHandle> works;
  for (const MessagePart& part : parts) {
    auto* data = static_cast<std::byte*>(part.data);
    works.push_back(thread.group().receive({data, part.bytes}, 0, tag));
  }
  return thread.add(std::move(works));
}

}  // namespace merak::dist
