// The communication seam: what a group of ranks can do together. Collectives
// and point-to-point messages over plain memory; no LibTorch type.
//
// Implementations: InProcess (ranks are threads, in_process.h), Fake (nothing
// is communicated, fake.h), Gloo (gloo/gloo_communicator.h). All pass the same
// tests, communicator_conformance.h.
//
// Order. Every rank of a group posts the same collectives in the same order.
// Messages between two ranks with the same tag are matched in order; those of
// different tags, and of different groups, are independent.
//
// Posting never blocks on a peer; wait() does. The memory of an operation must
// stay valid, and must not be written (of an output: not be read either), until
// wait() has returned or thrown. Work that is dropped without wait() goes on.
//
// Threads. One thread at a time posts on a communicator; different
// communicators are independent; wait() may be called from any one thread.
//
// Failures. A lost peer, a timeout or operations that do not match make wait()
// throw a PeerError which names the group and the operation. The communicator
// is then broken for good: everything on it throws. Destroying it may hang in
// Gloo: after a PeerError, write out what matters and _exit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "merak/base/dtype.h"
#include "merak/base/error.h"

namespace merak::dist {

// A runtime error whose cause lies, as far as this rank knows, with another
// rank: report it with Heartbeat::fail(..., because_of_peer = true).
class PeerError : public Error {
 public:
  explicit PeerError(const std::string& message)
      : Error(ErrorKind::kRuntime, message) {}
};

// Contiguous elements; the memory belongs to the caller.
struct Buffer {
  void* data = nullptr;
  std::int64_t count = 0;  // elements
  DType dtype = DType::kF32;

  std::size_t bytes() const {
    return static_cast<std::size_t>(count) * size_of(dtype);
  }
};

// A maximum over a NaN is unspecified.
enum class ReduceOp : std::uint8_t { kSum, kMax };
std::string_view name_of(ReduceOp op);

class Work {
 public:
  virtual ~Work() = default;
  // Returns when the operation is complete here; called once.
  virtual void wait() = 0;
  // Whether wait() would return or throw at once; false also where that cannot
  // be told. Messages of PeerChannels can tell.
  virtual bool done() const { return false; }
};
using WorkHandle = std::unique_ptr<Work>;  // never null
WorkHandle finished_work();

class Communicator {
 public:
  virtual ~Communicator() = default;

  int rank() const { return rank_; }  // within the group
  int size() const { return size_; }
  const std::string& name() const { return name_; }

  // In place. Every rank gets the same bits. Of all types but bool and i16.
  WorkHandle all_reduce(Buffer buffer, ReduceOp op);
  // `output` holds size() * input.count elements in rank order; no overlap.
  WorkHandle all_gather(Buffer input, Buffer output);
  WorkHandle broadcast(Buffer buffer, int root);
  WorkHandle barrier();

  // Both sides name the same number of bytes; `peer` is another rank of the
  // group; tags are 0 to 2^16-1. A send may wait for its receive.
  WorkHandle send(std::span<const std::byte> data, int peer, int tag);
  WorkHandle receive(std::span<std::byte> data, int peer, int tag);

 protected:
  Communicator(std::string name, int rank, int size);

 private:
  // Arguments are checked; counts are positive, and size() is at least 2.
  virtual WorkHandle do_all_reduce(Buffer buffer, ReduceOp op) = 0;
  virtual WorkHandle do_all_gather(Buffer input, Buffer output) = 0;
  virtual WorkHandle do_broadcast(Buffer buffer, int root) = 0;
  virtual WorkHandle do_barrier() = 0;
  virtual WorkHandle do_send(std::span<const std::byte> data, int peer,
                             int tag) = 0;
  virtual WorkHandle do_receive(std::span<std::byte> data, int peer,
                                int tag) = 0;
  void check_peer(int peer, int tag) const;

  std::string name_;
  int rank_;
  int size_;
};

// Makes the groups of one rank. All ranks of the world call make_group for all
// groups in the same order, members or not: groups are made eagerly, so that a
// missing connection shows at the start and not in the middle of a step.
class GroupFactory {
 public:
  virtual ~GroupFactory() = default;

  virtual int rank() const = 0;  // in the world
  virtual int world_size() const = 0;
  // `members`: world ranks; a member's group rank is its place in the list.
  // Names are unique in the world. Null where this rank is no member.
  std::unique_ptr<Communicator> make_group(const std::string& name,
                                           std::span<const int> members);

 private:
  virtual std::unique_ptr<Communicator> do_make_group(
      const std::string& name, std::span<const int> members,
      int rank_in_group) = 0;
};

}  // namespace merak::dist
