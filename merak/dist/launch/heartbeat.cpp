#include "merak/dist/launch/heartbeat.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "merak/base/error.h"
#include "merak/dist/launch/heartbeat_lines.h"
#include "merak/dist/thread.h"

namespace merak::dist {

namespace {

constexpr std::chrono::milliseconds kLastWords{1000};

bool is_socket(int fd) {
  struct stat status {};
  return fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

Heartbeat::Heartbeat(HeartbeatOptions options) : options_(std::move(options)) {
  MERAK_CHECK(options_.on_end != nullptr, "a heartbeat needs on_end");
  std::tie(wake_read_, wake_write_) = socket_pair();
  thread_ = start_thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_write_.reset();
  thread_.join();
}

bool Heartbeat::attach_launcher(int fd) {
  if (!is_socket(fd)) return false;
  attach(FileDescriptor(fd), false, "-");
  return true;
}

void Heartbeat::attach_monitor(const std::string& host, int port,
                               const std::string& token,
                               std::chrono::milliseconds timeout) {
  attach(connect_tcp(host, port, timeout), true, token);
}

void Heartbeat::attach(FileDescriptor fd, bool must_answer,
                       const std::string& token) {
  const std::lock_guard lock(mutex_);
  Peer peer{LineSocket(std::move(fd)),
            must_answer,
            false,
            std::chrono::steady_clock::now(),
            {}};
  peer.socket.send(fmt::format("hello {} {} {} {}", options_.rank, getpid(),
                               token, options_.label));
  peer.socket.send("beat " + to_text(progress_));
  peers_.push_back(std::move(peer));
  wake();  // the thread polls the new socket from now on
}

void Heartbeat::wake() {
  const char byte = 1;
  ::send(wake_write_.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Heartbeat::set_progress(std::int64_t step, std::int64_t micro_batch,
                             std::string_view action) {
  const std::lock_guard lock(mutex_);
  ++progress_.sequence;
  // A rank that is killed says nothing more: its step should be known.
  if (progress_.step != step) wake();
  progress_.step = step;
  progress_.micro_batch = micro_batch;
  progress_.action = action;
}

Progress Heartbeat::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void Heartbeat::fail(const std::string& reason, bool because_of_peer) {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_) {
    peer.socket.send("beat " + to_text(progress_));
    peer.socket.send(
        fmt::format("fail {} {}", because_of_peer ? "peer" : "own", reason));
    peer.socket.drain(kLastWords);
  }
}

void Heartbeat::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  for (Peer& peer : peers_) {
    peer.socket.send("bye");
    peer.socket.drain(kLastWords);
  }
}

void Heartbeat::run() {
  std::vector<pollfd> entries;
  while (true) {
    wait_for_input(entries);
    std::string reason;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      reason = read_peers();
      if (reason.empty()) send_beats();
      if (finished_) reason.clear();
    }
    if (!reason.empty()) {
      options_.on_end(reason);
      return;
    }
  }
}

// Sockets are only added, by other threads, and closed by this one: their
// descriptors stay valid while poll() waits without the lock.
void Heartbeat::wait_for_input(std::vector<pollfd>& entries) {
  entries.assign(1, pollfd{wake_read_.get(), POLLIN, 0});
  {
    const std::lock_guard lock(mutex_);
    for (const Peer& peer : peers_) {
      if (peer.socket.open()) entries.push_back(peer.socket.poll_entry());
    }
  }
  poll(entries.data(), entries.size(),
       static_cast<int>(options_.period.count()));
  if ((entries.front().revents & POLLIN) != 0) {
    char bytes[16];
    [[maybe_unused]] const ssize_t got =
        recv(wake_read_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  }
}

// A monitor that does not read (it is stopped) gets no further beats queued.
void Heartbeat::send_beats() {
  if (finished_) return;
  for (Peer& peer : peers_) {
    peer.socket.flush();
    if (peer.socket.idle()) peer.socket.send("beat " + to_text(progress_));
  }
}

std::string Heartbeat::read_peers() {
  const TimePoint now = std::chrono::steady_clock::now();
  std::string reason;
  for (Peer& peer : peers_) {
    std::string found = read_peer(peer, now);
    if (reason.empty()) reason = std::move(found);
  }
  return reason;
}

std::string Heartbeat::read_peer(Peer& peer, TimePoint now) const {
  if (!peer.socket.open() || peer.closing) return "";
  for (const std::string& text : peer.socket.read_lines()) {
    const Line line = parse_line(text);
    peer.heard = now;
    if (line.word == "end") return std::string(line.rest);
    if (line.word == "closing") peer.closing = true;
    if (line.word == "ok") {
      peer.host_progress =
          parse_progress(line.rest).value_or(peer.host_progress);
    }
  }
  if (peer.closing) return "";
  if (!peer.socket.open()) {
    return peer.must_answer
               ? fmt::format(
                     "rank 0, which watches the run, was lost (its "
                     "process ended){}; ending this rank",
                     where(peer.host_progress))
               : "the launcher is gone; ending this rank";
  }
  if (peer.must_answer && now - peer.heard >= options_.monitor_silence) {
    return fmt::format(
        "rank 0, which watches the run, has sent no heartbeat for {:.0f} "
        "s{}; ending this rank",
        std::chrono::duration<double>(now - peer.heard).count(),
        where(peer.host_progress));
  }
  return "";
}

}  // namespace merak::dist
