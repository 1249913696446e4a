#include "merak/dist/recorded.h"

#include <fmt/format.h>

#include <utility>

namespace merak::dist {

namespace {

class RecordedWork : public Work {
 public:
  RecordedWork(WorkHandle work, FlightRecorder& recorder, std::uint64_t entry)
      : work_(std::move(work)), recorder_(recorder), entry_(entry) {}

  void wait() override {
    work_->wait();  // a failure leaves the entry open: here it stood
    recorder_.end(entry_);
  }
  bool done() const override { return work_->done(); }

 private:
  WorkHandle work_;
  FlightRecorder& recorder_;
  std::uint64_t entry_;
};

std::string text_of(const Buffer& buffer) {
  return fmt::format("{} {}", buffer.count, merak::name_of(buffer.dtype));
}

class RecordedCommunicator : public Communicator {
 public:
  RecordedCommunicator(std::unique_ptr<Communicator> inner,
                       FlightRecorder& recorder)
      : Communicator(inner->name(), inner->rank(), inner->size()),
        inner_(std::move(inner)),
        recorder_(recorder) {}

 private:
  // Before the post, which may fail itself.
  template <typename Post>
  WorkHandle record(std::string_view kind, std::string_view what,
                    const Post& post) {
    const std::uint64_t entry =
        recorder_.begin(kind, fmt::format("{}: {}", name(), what));
    return std::make_unique<RecordedWork>(post(), recorder_, entry);
  }

  WorkHandle do_all_reduce(Buffer buffer, ReduceOp op) override {
    return record("all_reduce",
                  fmt::format("{} {}", text_of(buffer), name_of(op)),
                  [&] { return inner_->all_reduce(buffer, op); });
  }
  WorkHandle do_all_gather(Buffer input, Buffer output) override {
    return record("all_gather", text_of(input),
                  [&] { return inner_->all_gather(input, output); });
  }
  WorkHandle do_broadcast(Buffer buffer, int root) override {
    return record("broadcast", fmt::format("{} from {}", text_of(buffer), root),
                  [&] { return inner_->broadcast(buffer, root); });
  }
  WorkHandle do_barrier() override {
    return record("barrier", fmt::format("of {} ranks", size()),
                  [&] { return inner_->barrier(); });
  }
  WorkHandle do_send(std::span<const std::byte> data, int peer,
                     int tag) override {
    return record("send",
                  fmt::format("{} bytes to {}, tag {}", data.size(), peer, tag),
                  [&] { return inner_->send(data, peer, tag); });
  }
  WorkHandle do_receive(std::span<std::byte> data, int peer, int tag) override {
    return record(
        "receive",
        fmt::format("{} bytes from {}, tag {}", data.size(), peer, tag),
        [&] { return inner_->receive(data, peer, tag); });
  }

  std::unique_ptr<Communicator> inner_;
  FlightRecorder& recorder_;
};

class RecordedFactory : public GroupFactory {
 public:
  RecordedFactory(GroupFactory& inner, FlightRecorder& recorder)
      : inner_(inner), recorder_(recorder) {}
  int rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }

 private:
  std::unique_ptr<Communicator> do_make_group(const std::string& name,
                                              std::span<const int> members,
                                              int /*rank_in_group*/) override {
    return std::make_unique<RecordedCommunicator>(
        inner_.make_group(name, members), recorder_);
  }

  GroupFactory& inner_;
  FlightRecorder& recorder_;
};

}  // namespace

std::unique_ptr<GroupFactory> make_recorded_factory(GroupFactory& factory,
                                                    FlightRecorder& recorder) {
  return std::make_unique<RecordedFactory>(factory, recorder);
}

}  // namespace merak::dist
