// Sockets: just what launcher, heartbeats and monitor need. All descriptors are
// close-on-exec.
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace merak::dist {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_;
};

struct Listener {
  FileDescriptor fd;
  int port = 0;
};
// Port 0: the kernel chooses. Empty host: all interfaces, IPv4 and IPv6.
// Runtime error that names host and port.
Listener listen_tcp(const std::string& host, int port);
// One attempt; an invalid descriptor, and the reason, if it fails.
struct Connected {
  FileDescriptor fd;
  std::string reason;
};
Connected try_connect_tcp(const std::string& host, int port,
                          std::chrono::milliseconds timeout);
// Tries again, as long as it is refused, until the timeout; then a runtime
// error that names host and port.
FileDescriptor connect_tcp(const std::string& host, int port,
                           std::chrono::milliseconds timeout);
std::pair<FileDescriptor, FileDescriptor> socket_pair();
// This host's numeric address on the way to another one: what that one can
// reach it at. Nothing is sent. Runtime error if there is no way.
std::string address_towards(const std::string& host);

// Lines of text over a stream socket, never blocking. Not thread-safe.
//
// What the other side sends is not trusted: a line over 64 KiB closes the
// connection.
class LineSocket {
 public:
  explicit LineSocket(FileDescriptor fd);

  int fd() const { return fd_.get(); }
  bool open() const { return fd_.valid(); }
  void close() { fd_.reset(); }
  // What to ask poll() for.
  pollfd poll_entry() const;

  // The whole lines that have come, without their ends. At the end of the
  // stream the socket closes, after the last lines were returned.
  std::vector<std::string> read_lines();
  // Queues a line and sends what fits. A line end inside becomes a space.
  void send(std::string_view line);
  void flush();
  bool idle() const { return outgoing_.empty(); }
  // Waits at most so long until all is sent.
  void drain(std::chrono::milliseconds timeout);

 private:
  FileDescriptor fd_;
  std::string incoming_;
  std::string outgoing_;
};

}  // namespace merak::dist
