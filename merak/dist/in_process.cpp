#include "merak/dist/in_process.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "merak/base/error.h"
#include "merak/dist/reduce.h"

namespace merak::dist {

namespace {

// What all ranks of a group must agree on before a collective runs.
struct Signature {
  std::string_view kind;
  std::int64_t count = 0;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;

  bool operator==(const Signature&) const = default;
  std::string text() const {
    return fmt::format("{} of {} {} ({}, root {})", kind, count,
                       merak::name_of(dtype), name_of(op), root);
  }
};

// One operation that several ranks take part in. `done` and `error` are
// guarded by the state's mutex.
struct Operation {
  bool done = false;
  std::string error;
};

struct Collective : Operation {
  Signature signature;
  int first_rank = 0;
  int arrived = 0;
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
};

struct Message : Operation {
  void* data = nullptr;
  std::size_t bytes = 0;
};

struct Group {
  std::vector<int> members;
  std::vector<std::int64_t> posted;  // collectives so far, by rank
  std::int64_t first = 0;            // number of collectives.front()
  std::deque<std::shared_ptr<Collective>> collectives;
  struct Mailbox {  // at most one of the two holds something
    std::deque<std::shared_ptr<Message>> sends, receives;
  };
  std::map<std::tuple<int, int, int>, Mailbox> mailboxes;  // from, to, tag
};

void run_collective(const Collective& collective) {
  const Signature& signature = collective.signature;
  if (signature.kind == "all_reduce") {
    reduce_in_order(collective.inputs, signature.op);
  } else if (signature.kind == "all_gather") {
    for (const Buffer& output : collective.outputs) {
      auto* out = static_cast<std::byte*>(output.data);
      for (const Buffer& input : collective.inputs) {
        std::memcpy(out, input.data, input.bytes());
        out += input.bytes();
      }
    }
  } else if (signature.kind == "broadcast") {
    const auto root = static_cast<std::size_t>(signature.root);
    for (std::size_t i = 0; i < collective.inputs.size(); ++i) {
      if (i == root) continue;
      std::memcpy(collective.inputs[i].data, collective.inputs[root].data,
                  collective.inputs[root].bytes());
    }
  }
}

}  // namespace

class InProcessState {
 public:
  Group& join(const std::string& name, std::span<const int> members) {
    const std::lock_guard lock(mutex_);
    Group& group = groups_[name];
    if (group.members.empty()) {
      group.members.assign(members.begin(), members.end());
      group.posted.resize(members.size());
    }
    MERAK_CHECK(std::equal(members.begin(), members.end(),
                           group.members.begin(), group.members.end()),
                "group {} is made with different members", name);
    return group;
  }

  std::shared_ptr<Operation> post(const std::string& name, Group& group,
                                  int rank, const Signature& signature,
                                  Buffer input, Buffer output) {
    std::unique_lock lock(mutex_);
    throw_if_aborted();
    const auto index = static_cast<std::size_t>(rank);
    const std::int64_t number = group.posted[index]++;
    const auto place = static_cast<std::size_t>(number - group.first);
    if (place == group.collectives.size()) {
      group.collectives.push_back(std::make_shared<Collective>());
      group.collectives.back()->signature = signature;
      group.collectives.back()->first_rank = rank;
      group.collectives.back()->inputs.resize(group.members.size());
      group.collectives.back()->outputs.resize(group.members.size());
    }
    const std::shared_ptr<Collective> collective = group.collectives[place];
    if (collective->signature != signature && !aborted_) {
      abort_locked(fmt::format(
          "group {}: collective {} is {} on rank {} but {} on rank {}", name,
          number, collective->signature.text(), collective->first_rank,
          signature.text(), rank));
      throw_if_aborted();
    }
    collective->inputs[index] = input;
    collective->outputs[index] = output;
    if (++collective->arrived == static_cast<int>(group.members.size())) {
      // Nobody posts to it again, and collectives fill up in order.
      group.collectives.pop_front();
      ++group.first;
      lock.unlock();
      run_collective(*collective);
      lock.lock();
      collective->done = true;
      changed_.notify_all();
    }
    return collective;
  }

  // The later of the two sides copies.
  std::shared_ptr<Operation> post_message(const std::string& name, Group& group,
                                          int from, int to, int tag,
                                          bool sending, void* data,
                                          std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    throw_if_aborted();
    Group::Mailbox& box = group.mailboxes[{from, to, tag}];
    auto& others = sending ? box.receives : box.sends;
    auto message = std::make_shared<Message>();
    message->data = data;
    message->bytes = bytes;
    if (others.empty()) {
      (sending ? box.sends : box.receives).push_back(message);
      return message;
    }
    const std::shared_ptr<Message> other = others.front();
    others.pop_front();
    if (other->bytes != bytes) {
      const std::size_t sent = sending ? bytes : other->bytes;
      abort_locked(fmt::format(
          "group {}: rank {} sends {} bytes with tag {}, rank {} receives {}",
          name, from, sent, tag, to, sending ? other->bytes : bytes));
      throw_if_aborted();
    }
    if (sending) {
      std::memcpy(other->data, data, bytes);
    } else {
      std::memcpy(data, other->data, bytes);
    }
    message->done = other->done = true;
    changed_.notify_all();
    return message;
  }

  void wait(const Operation& operation) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return operation.done || aborted_; });
    if (!operation.done) throw_if_aborted();
  }

  void abort(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    abort_locked(reason);
  }

 private:
  void abort_locked(const std::string& reason) {
    if (!aborted_) aborted_ = reason;
    changed_.notify_all();
  }
  void throw_if_aborted() const {
    if (aborted_) throw PeerError(*aborted_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> aborted_;
  std::map<std::string, Group> groups_;  // addresses of groups are stable
};

namespace {

class InProcessWork : public Work {
 public:
  InProcessWork(std::shared_ptr<InProcessState> state,
                std::shared_ptr<Operation> operation)
      : state_(std::move(state)), operation_(std::move(operation)) {}
  void wait() override { state_->wait(*operation_); }

 private:
  std::shared_ptr<InProcessState> state_;
  std::shared_ptr<Operation> operation_;
};

class InProcessCommunicator : public Communicator {
 public:
  InProcessCommunicator(const std::string& name, int rank,
                        std::span<const int> members,
                        std::shared_ptr<InProcessState> state)
      : Communicator(name, rank, static_cast<int>(members.size())),
        state_(std::move(state)),
        group_(state_->join(name, members)) {}

 private:
  WorkHandle do_all_reduce(Buffer buffer, ReduceOp op) override {
    return collective({"all_reduce", buffer.count, buffer.dtype, op}, buffer);
  }
  WorkHandle do_all_gather(Buffer input, Buffer output) override {
    return collective({"all_gather", input.count, input.dtype}, input, output);
  }
  WorkHandle do_broadcast(Buffer buffer, int root) override {
    return collective(
        {"broadcast", buffer.count, buffer.dtype, ReduceOp::kSum, root},
        buffer);
  }
  WorkHandle do_barrier() override { return collective({"barrier"}, {}); }

  WorkHandle do_send(std::span<const std::byte> data, int peer,
                     int tag) override {
    // Only read: the copy goes from the sender's side.
    void* from = const_cast<std::byte*>(data.data());
    return work(state_->post_message(name(), group_, rank(), peer, tag, true,
                                     from, data.size()));
  }
  WorkHandle do_receive(std::span<std::byte> data, int peer, int tag) override {
    return work(state_->post_message(name(), group_, peer, rank(), tag, false,
                                     data.data(), data.size()));
  }

  WorkHandle collective(const Signature& signature, Buffer input,
                        Buffer output = {}) {
    return work(state_->post(name(), group_, rank(), signature, input, output));
  }
  WorkHandle work(std::shared_ptr<Operation> operation) {
    return std::make_unique<InProcessWork>(state_, std::move(operation));
  }

  std::shared_ptr<InProcessState> state_;
  Group& group_;
};

class InProcessFactory : public GroupFactory {
 public:
  InProcessFactory(int rank, int size, std::shared_ptr<InProcessState> state)
      : rank_(rank), size_(size), state_(std::move(state)) {}
  int rank() const override { return rank_; }
  int world_size() const override { return size_; }

 private:
  std::unique_ptr<Communicator> do_make_group(const std::string& name,
                                              std::span<const int> members,
                                              int rank_in_group) override {
    return std::make_unique<InProcessCommunicator>(name, rank_in_group, members,
                                                   state_);
  }
  int rank_;
  int size_;
  std::shared_ptr<InProcessState> state_;
};

}  // namespace

InProcessWorld::InProcessWorld(int size)
    : size_(size), state_(std::make_shared<InProcessState>()) {
  MERAK_CHECK(size >= 1, "a world of {} ranks", size);
}

std::unique_ptr<GroupFactory> InProcessWorld::factory(int rank) const {
  return std::make_unique<InProcessFactory>(rank, size_, state_);
}

void InProcessWorld::abort(const std::string& reason) const {
  state_->abort(reason);
}

}  // namespace merak::dist
