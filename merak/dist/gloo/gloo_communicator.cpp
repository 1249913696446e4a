#include "merak/dist/gloo/gloo_communicator.h"

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "merak/base/error.h"
#include "merak/dist/gloo/gloo_device.h"
#include "merak/dist/gloo/tcp_store_impl.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

namespace {

using C10dWork = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return at::kBool;
    case DType::kU8:
      return at::kByte;
    case DType::kI8:
      return at::kChar;
    case DType::kI16:
      return at::kShort;
    case DType::kI32:
      return at::kInt;
    case DType::kI64:
      return at::kLong;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kF32:
      return at::kFloat;
    case DType::kF64:
      return at::kDouble;
  }
  MERAK_CHECK(false, "a type without a name");
}

at::Tensor wrap(const Buffer& buffer) {
  return at::from_blob(buffer.data, {buffer.count},
                       at::TensorOptions(scalar_type(buffer.dtype)));
}

// Only moved, not computed with: bytes will do for any type.
at::Tensor wrap_bytes(void* data, std::size_t bytes) {
  return at::from_blob(data, {static_cast<std::int64_t>(bytes)},
                       at::TensorOptions(at::kByte));
}

// Why a group is broken, shared with its works.
class Health {
 public:
  void check() const {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) throw PeerError(reason_);
  }
  [[noreturn]] void fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = reason;
    throw PeerError(reason);
  }

 private:
  mutable std::mutex mutex_;
  std::string reason_;
};

class GlooWork : public Work {
 public:
  GlooWork(C10dWork work, std::chrono::milliseconds timeout, std::string what,
           std::shared_ptr<Health> health)
      : work_(std::move(work)),
        timeout_(timeout),
        what_(std::move(what)),
        health_(std::move(health)) {}

  void wait() override {
    try {
      if (work_->wait(timeout_)) return;
    } catch (const std::exception& error) {
      health_->fail(fmt::format("{} failed: {}", what_, reason_of(error)));
    }
    health_->fail(fmt::format("{} was aborted", what_));
  }

 private:
  C10dWork work_;
  std::chrono::milliseconds timeout_;
  std::string what_;
  std::shared_ptr<Health> health_;
};

class GlooCommunicator : public Communicator {
 public:
  GlooCommunicator(const std::string& name, int rank, int size,
                   c10::intrusive_ptr<c10d::Backend> backend,
                   std::chrono::milliseconds timeout)
      : Communicator(name, rank, size),
        backend_(std::move(backend)),
        timeout_(timeout) {}

 private:
  WorkHandle do_all_reduce(Buffer buffer, ReduceOp op) override {
    c10d::AllreduceOptions options;
    options.reduceOp =
        op == ReduceOp::kSum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
    return post(collective("all_reduce", buffer), [&] {
      Tensors tensors = {wrap(buffer)};
      return backend_->allreduce(tensors, options);
    });
  }

  WorkHandle do_all_gather(Buffer input, Buffer output) override {
    return post(collective("all_gather", input), [&] {
      Tensors inputs = {wrap_bytes(input.data, input.bytes())};
      std::vector<Tensors> outputs(1);
      for (int i = 0; i < size(); ++i) {
        auto* part = static_cast<std::byte*>(output.data) +
                     static_cast<std::size_t>(i) * input.bytes();
        outputs.front().push_back(wrap_bytes(part, input.bytes()));
      }
      return backend_->allgather(outputs, inputs);
    });
  }

  WorkHandle do_broadcast(Buffer buffer, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return post(collective("broadcast", buffer), [&] {
      Tensors tensors = {wrap_bytes(buffer.data, buffer.bytes())};
      return backend_->broadcast(tensors, options);
    });
  }

  WorkHandle do_barrier() override {
    return post(fmt::format("barrier {}", collectives_++),
                [&] { return backend_->barrier(); });
  }

  WorkHandle do_send(std::span<const std::byte> data, int peer,
                     int tag) override {
    const std::string what =
        fmt::format("send of {} bytes to {} (tag {})", data.size(), peer, tag);
    return post(what, [&] {
      // A send only reads.
      Tensors tensors = {
          wrap_bytes(const_cast<std::byte*>(data.data()), data.size())};
      return backend_->send(tensors, peer, tag);
    });
  }

  WorkHandle do_receive(std::span<std::byte> data, int peer, int tag) override {
    const std::string what = fmt::format("receive of {} bytes from {} (tag {})",
                                         data.size(), peer, tag);
    return post(what, [&] {
      Tensors tensors = {wrap_bytes(data.data(), data.size())};
      return backend_->recv(tensors, peer, tag);
    });
  }

  std::string collective(std::string_view kind, const Buffer& buffer) {
    return fmt::format("{} {} of {} {}", kind, collectives_++, buffer.count,
                       merak::name_of(buffer.dtype));
  }

  template <typename F>
  WorkHandle post(const std::string& what, F&& start) {
    health_->check();
    const std::string where = fmt::format("group {}, rank {} of {}: {}", name(),
                                          rank(), size(), what);
    try {
      return std::make_unique<GlooWork>(start(), timeout_, where, health_);
    } catch (const std::exception& error) {
      health_->fail(fmt::format("{} failed: {}", where, reason_of(error)));
    }
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::chrono::milliseconds timeout_;
  std::int64_t collectives_ = 0;  // posted so far
  std::shared_ptr<Health> health_ = std::make_shared<Health>();
};

class GlooFactory : public GroupFactory {
 public:
  GlooFactory(const TcpStore& store, int rank, int world_size,
              const GlooOptions& options)
      : store_(store),
        rank_(rank),
        world_size_(world_size),
        options_(options),
        device_(make_gloo_device(options)) {}

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

 private:
  std::unique_ptr<Communicator> do_make_group(const std::string& name,
                                              std::span<const int> members,
                                              int rank_in_group) override {
    const int size = static_cast<int>(members.size());
    c10::intrusive_ptr<c10d::Backend> backend;
    if (size > 1) {
      backend =
          make_gloo_group(store_, name, rank_in_group, size, device_, options_);
    }
    return std::make_unique<GlooCommunicator>(
        name, rank_in_group, size, std::move(backend), options_.timeout);
  }

  const TcpStore& store_;
  int rank_;
  int world_size_;
  GlooOptions options_;
  GlooDevice device_;
};

}  // namespace

GlooOptions gloo_options(const LaunchEnvironment& environment) {
  GlooOptions options;
  if (!environment.host.empty() && !environment.single_host()) {
    options.address = address_towards(environment.host);
  }
  return options;
}

std::unique_ptr<GroupFactory> make_gloo_factory(const TcpStore& store, int rank,
                                                int world_size,
                                                const GlooOptions& options) {
  return std::make_unique<GlooFactory>(store, rank, world_size, options);
}

}  // namespace merak::dist
