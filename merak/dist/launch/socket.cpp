#include "merak/dist/launch/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRetry{100};
constexpr std::size_t kLongestLine = std::size_t{64} << 10;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Null if the name does not resolve.
Addresses resolve(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                std::to_string(port).c_str(), &hints, &found);
  return {error == 0 ? found : nullptr, &freeaddrinfo};
}

FileDescriptor open_socket(const addrinfo& address) {
  return FileDescriptor(
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

int bound_port(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail_runtime("cannot read a socket's port: {}", std::strerror(errno));
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// Nothing, with errno set, if this address cannot be listened at.
std::optional<Listener> listen_at(const addrinfo& address) {
  FileDescriptor fd = open_socket(address);
  if (!fd.valid()) return std::nullopt;
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) {
    set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  }
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return std::nullopt;
  }
  const int port = bound_port(fd.get());
  return Listener{std::move(fd), port};
}

// Connects within the time that is left; the error otherwise.
int connect_within(int fd, const addrinfo& address, Clock::time_point end) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  pollfd entry{fd, POLLOUT, 0};
  if (poll(&entry, 1, std::max(0, static_cast<int>(left.count()))) <= 0) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Listener listen_tcp(const std::string& host, int port) {
  const Addresses found = resolve(host, port, AI_PASSIVE);
  if (!found) fail_runtime("the host name '{}' is unknown", host);
  int error = 0;
  // IPv6 first: its wildcard takes IPv4 in as well.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) continue;
      if (std::optional<Listener> listener = listen_at(*at)) {
        return std::move(*listener);
      }
      error = errno;
    }
  }
  fail_runtime("cannot listen at {}:{}: {}", host.empty() ? "*" : host, port,
               std::strerror(error));
}

Connected try_connect_tcp(const std::string& host, int port,
                          std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  const Addresses found = resolve(host, port, 0);
  std::string reason = "the host name is unknown";
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    FileDescriptor fd = open_socket(*at);
    if (!fd.valid()) continue;
    const int error = connect_within(fd.get(), *at, end);
    if (error == 0) {
      set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
      return {std::move(fd), ""};
    }
    reason = std::strerror(error);
  }
  return {FileDescriptor(), reason};
}

FileDescriptor connect_tcp(const std::string& host, int port,
                           std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    Connected made = try_connect_tcp(host, port, std::max(left, kRetry));
    if (made.fd.valid()) return std::move(made.fd);
    if (Clock::now() + kRetry >= end) {
      fail_runtime("cannot reach {}:{} within {:.3g} s: {}", host, port,
                   std::chrono::duration<double>(timeout).count(), made.reason);
    }
    std::this_thread::sleep_for(kRetry);
  }
}

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    fail_runtime("cannot make a socket: {}", std::strerror(errno));
  }
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

std::string address_towards(const std::string& host) {
  const Addresses found = resolve(host, 9, 0);  // any port will do
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    // Connecting a datagram socket only looks up the route.
    const FileDescriptor fd(
        socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[NI_MAXHOST];
    if (fd.valid() && connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text,
                    nullptr, 0, NI_NUMERICHOST) == 0) {
      return text;
    }
  }
  fail_runtime("no network leads to the host '{}'", host);
}

LineSocket::LineSocket(FileDescriptor fd) : fd_(std::move(fd)) {
  const int flags = fcntl(fd_.get(), F_GETFL);
  fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK);
  fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);
}

pollfd LineSocket::poll_entry() const {
  const int events = POLLIN | (outgoing_.empty() ? 0 : POLLOUT);
  return {fd_.get(), static_cast<short>(events), 0};
}

std::vector<std::string> LineSocket::read_lines() {
  std::vector<std::string> lines;
  char chunk[4096];
  while (open()) {
    const ssize_t got = recv(fd_.get(), chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      close();
      break;
    }
    incoming_.append(chunk, static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end = incoming_.find('\n'); end != std::string::npos;
         end = incoming_.find('\n', start)) {
      lines.push_back(incoming_.substr(start, end - start));
      start = end + 1;
    }
    incoming_.erase(0, start);
    if (incoming_.size() > kLongestLine) close();
  }
  return lines;
}

void LineSocket::send(std::string_view line) {
  if (!open()) return;
  for (const char c : line) outgoing_.push_back(c == '\n' ? ' ' : c);
  outgoing_.push_back('\n');
  flush();
}

void LineSocket::flush() {
  while (open() && !outgoing_.empty()) {
    const ssize_t sent =
        ::send(fd_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      // What a closed peer had sent before can still be read: the reader
      // closes.
      if (errno != EAGAIN) outgoing_.clear();
      return;
    }
    outgoing_.erase(0, static_cast<std::size_t>(sent));
  }
}

void LineSocket::drain(std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  while (open() && !outgoing_.empty() && Clock::now() < end) {
    pollfd entry{fd_.get(), POLLOUT, 0};
    poll(&entry, 1, 50);
    flush();
  }
}

}  // namespace merak::dist
