#include "merak/dist/gloo/tcp_store.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "merak/base/error.h"
#include "merak/dist/communicator.h"
#include "merak/dist/gloo/tcp_store_impl.h"
#include "merak/dist/launch/socket.h"

namespace merak::dist {

namespace {

using std::chrono::milliseconds;

// No call but wait() is expected to take long.
constexpr milliseconds kPatience{60000};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

c10::intrusive_ptr<c10d::Store> host_store(
    const LaunchEnvironment& environment) {
  FileDescriptor listener(environment.listener_fd);
  if (!listener.valid()) {
    try {
      const std::string& host = environment.host;
      listener = listen_tcp(is_loopback(host) ? host : "", environment.port).fd;
    } catch (const Error& error) {
      fail_runtime(
          "rank 0 cannot host the store: {}; set MASTER_PORT to a "
          "free port",
          error.what());
    }
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment.port);
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = kPatience;
  options.masterListenFd = listener.release();
  return c10::make_intrusive<c10d::TCPStore>(environment.host, options);
}

c10::intrusive_ptr<c10d::Store> join_store(const LaunchEnvironment& environment,
                                           milliseconds timeout) {
  // c10d waits a second between its attempts and its error is long: knock
  // first.
  try {
    connect_tcp(environment.host, environment.port, timeout);
  } catch (const Error& error) {
    throw PeerError(fmt::format(
        "waited for {}, which hosts the store: {}",
        environment.store_is_there ? "the launcher" : "rank 0", error.what()));
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment.port);
  options.waitWorkers = false;
  options.timeout = kPatience;
  return c10::make_intrusive<c10d::TCPStore>(environment.host, options);
}

template <typename F>
auto call(const TcpStore::Impl& impl, F&& f) {
  try {
    return f(*impl.store);
  } catch (const std::exception& error) {
    throw PeerError(fmt::format("lost the store at {}: {}", impl.address,
                                reason_of(error)));
  }
}

std::string to_string(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}
std::vector<std::uint8_t> to_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

std::string reason_of(const std::exception& error) {
  const auto* ours = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      ours != nullptr ? ours->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

TcpStore::TcpStore(const LaunchEnvironment& environment, milliseconds timeout)
    : impl_(std::make_unique<Impl>()) {
  MERAK_CHECK(!environment.host.empty(), "no launcher, no store");
  impl_->address = fmt::format("{}:{}", environment.host, environment.port);
  const bool host = environment.rank == 0 && !environment.store_is_there;
  try {
    auto store =
        host ? host_store(environment) : join_store(environment, timeout);
    impl_->store = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("merak/attempt_{}", environment.restart), std::move(store));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail_runtime("no store at {}: {}", impl_->address, reason_of(error));
  }
}

TcpStore::~TcpStore() = default;

void TcpStore::set(const std::string& key, const std::string& value) {
  call(*impl_, [&](c10d::Store& store) { store.set(key, to_bytes(value)); });
}

std::string TcpStore::set_once(const std::string& key,
                               const std::string& value) {
  return call(*impl_, [&](c10d::Store& store) {
    return to_string(
        store.compareSet(key, std::vector<std::uint8_t>(), to_bytes(value)));
  });
}

std::optional<std::string> TcpStore::wait(const std::string& key,
                                          milliseconds timeout) {
  return call(*impl_, [&](c10d::Store& store) -> std::optional<std::string> {
    // c10d takes 0 for "for ever".
    try {
      store.wait({key}, std::max(timeout, milliseconds(1)));
    } catch (const c10::DistStoreError&) {
      return std::nullopt;
    }
    return to_string(store.get(key));
  });
}

bool TcpStore::has(const std::string& key) {
  return call(*impl_, [&](c10d::Store& store) { return store.check({key}); });
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t delta) {
  return call(*impl_,
              [&](c10d::Store& store) { return store.add(key, delta); });
}

}  // namespace merak::dist
