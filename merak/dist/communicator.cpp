#include "merak/dist/communicator.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

class FinishedWork : public Work {
 public:
  void wait() override {}
};

bool reducible(DType dtype) {
  return dtype != DType::kBool && dtype != DType::kI16;
}

}  // namespace

std::string_view name_of(ReduceOp op) {
  return op == ReduceOp::kSum ? "sum" : "max";
}

WorkHandle finished_work() { return std::make_unique<FinishedWork>(); }

Communicator::Communicator(std::string name, int rank, int size)
    : name_(std::move(name)), rank_(rank), size_(size) {
  MERAK_CHECK(0 <= rank && rank < size, "group {}: rank {} of {}", name_, rank,
              size);
}

WorkHandle Communicator::all_reduce(Buffer buffer, ReduceOp op) {
  MERAK_CHECK(buffer.count >= 0, "group {}: all_reduce of {} elements", name_,
              buffer.count);
  MERAK_CHECK(reducible(buffer.dtype), "group {}: all_reduce of {}", name_,
              merak::name_of(buffer.dtype));
  if (buffer.count == 0 || size_ == 1) return finished_work();
  return do_all_reduce(buffer, op);
}

WorkHandle Communicator::all_gather(Buffer input, Buffer output) {
  MERAK_CHECK(input.count >= 0 && output.count == size_ * input.count &&
                  input.dtype == output.dtype,
              "group {} of {}: all_gather of {} {} into {} {}", name_, size_,
              input.count, merak::name_of(input.dtype), output.count,
              merak::name_of(output.dtype));
  if (input.count == 0) return finished_work();
  if (size_ == 1) {
    std::memcpy(output.data, input.data, input.bytes());
    return finished_work();
  }
  return do_all_gather(input, output);
}

WorkHandle Communicator::broadcast(Buffer buffer, int root) {
  MERAK_CHECK(buffer.count >= 0 && 0 <= root && root < size_,
              "group {} of {}: broadcast of {} elements from {}", name_, size_,
              buffer.count, root);
  if (buffer.count == 0 || size_ == 1) return finished_work();
  return do_broadcast(buffer, root);
}

WorkHandle Communicator::barrier() {
  if (size_ == 1) return finished_work();
  return do_barrier();
}

WorkHandle Communicator::send(std::span<const std::byte> data, int peer,
                              int tag) {
  check_peer(peer, tag);
  if (data.empty()) return finished_work();
  return do_send(data, peer, tag);
}

WorkHandle Communicator::receive(std::span<std::byte> data, int peer, int tag) {
  check_peer(peer, tag);
  if (data.empty()) return finished_work();
  return do_receive(data, peer, tag);
}

void Communicator::check_peer(int peer, int tag) const {
  MERAK_CHECK(0 <= peer && peer < size_ && peer != rank_,
              "group {}: rank {} of {} names the peer {}", name_, rank_, size_,
              peer);
  MERAK_CHECK(0 <= tag && tag < (1 << 16), "group {}: tag {}", name_, tag);
}

std::unique_ptr<Communicator> GroupFactory::make_group(
    const std::string& name, std::span<const int> members) {
  const std::set<int> distinct(members.begin(), members.end());
  MERAK_CHECK(!members.empty() && distinct.size() == members.size() &&
                  *distinct.begin() >= 0 && *distinct.rbegin() < world_size(),
              "group {}: {} members in a world of {}", name, members.size(),
              world_size());
  const auto mine = std::find(members.begin(), members.end(), rank());
  if (mine == members.end()) return nullptr;
  return do_make_group(name, members, static_cast<int>(mine - members.begin()));
}

}  // namespace merak::dist
