#include "merak/dist/fake.h"

#include <cstring>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

class FakeCommunicator : public Communicator {
 public:
  FakeCommunicator(const std::string& name, int rank, int size)
      : Communicator(name, rank, size) {}

 private:
  WorkHandle do_all_reduce(Buffer, ReduceOp) override {
    return finished_work();
  }
  WorkHandle do_all_gather(Buffer input, Buffer output) override {
    auto* out = static_cast<std::byte*>(output.data);
    for (int i = 0; i < size(); ++i, out += input.bytes()) {
      std::memcpy(out, input.data, input.bytes());
    }
    return finished_work();
  }
  WorkHandle do_broadcast(Buffer, int) override { return finished_work(); }
  WorkHandle do_barrier() override { return finished_work(); }
  WorkHandle do_send(std::span<const std::byte>, int, int) override {
    return finished_work();
  }
  WorkHandle do_receive(std::span<std::byte> data, int, int) override {
    std::memset(data.data(), 0, data.size());
    return finished_work();
  }
};

class FakeFactory : public GroupFactory {
 public:
  FakeFactory(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int world_size() const override { return size_; }

 private:
  std::unique_ptr<Communicator> do_make_group(const std::string& name,
                                              std::span<const int> members,
                                              int rank_in_group) override {
    return std::make_unique<FakeCommunicator>(name, rank_in_group,
                                              static_cast<int>(members.size()));
  }
  int rank_;
  int size_;
};

}  // namespace

std::unique_ptr<GroupFactory> make_fake_factory(int rank, int world_size) {
  MERAK_CHECK(0 <= rank && rank < world_size, "rank {} of {}", rank,
              world_size);
  return std::make_unique<FakeFactory>(rank, world_size);
}

}  // namespace merak::dist
