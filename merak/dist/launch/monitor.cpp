#include "merak/dist/launch/monitor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <random>
#include <utility>

#include "merak/base/error.h"
#include "merak/dist/launch/heartbeat_lines.h"
#include "merak/dist/thread.h"

namespace merak::dist {

namespace {

constexpr int kPeriodMs = 500;
constexpr std::chrono::milliseconds kLastWords{500};

std::string random_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(),
                     device());
}

}  // namespace

Monitor::Monitor(int ranks, const std::string& host,
                 const WatchOptions& options)
    : ranks_(ranks), token_(random_token()), watch_(0, ranks, options) {
  Listener listener = listen_tcp(host, 0);
  listener_ = std::move(listener.fd);
  port_ = listener.port;
  fcntl(listener_.get(), F_SETFL, O_NONBLOCK);
  std::tie(wake_read_, wake_write_) = socket_pair();
  thread_ = start_thread([this] { run(); });
}

Monitor::~Monitor() {
  stop_ = true;
  wake_write_.reset();
  thread_.join();
}

void Monitor::run() {
  TimePoint answered;
  while (!stop_) {
    std::vector<pollfd> entries = {{wake_read_.get(), POLLIN, 0},
                                   {listener_.get(), POLLIN, 0}};
    for (const Connection& each : connections_) {
      entries.push_back(each.socket.poll_entry());
    }
    poll(entries.data(), entries.size(), kPeriodMs);
    accept_all();
    const TimePoint now = std::chrono::steady_clock::now();
    for (Connection& each : connections_) read(each, now);
    std::erase_if(connections_,
                  [](const Connection& each) { return !each.socket.open(); });
    if (now - answered >= std::chrono::milliseconds(kPeriodMs)) {
      answer();
      answered = now;
    }
    if (const std::optional<Verdict> verdict = watch_.check(now)) {
      broadcast("end " + verdict->line);
      return;
    }
  }
  broadcast("closing");
}

void Monitor::accept_all() {
  while (true) {
    FileDescriptor fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return;
    connections_.push_back({LineSocket(std::move(fd)), -1});
  }
}

void Monitor::read(Connection& connection, TimePoint now) {
  for (const std::string& text : connection.socket.read_lines()) {
    const Line line = parse_line(text);
    if (connection.rank >= 0) {
      apply_line(watch_, connection.rank, line, now);
    } else if (line.word == "hello") {
      read_hello(connection, line.rest, now);
    }
    if (connection.rank < 0) return connection.socket.close();
  }
  if (!connection.socket.open() && connection.rank >= 0) {
    watch_.disconnected(connection.rank, now);
  }
}

void Monitor::read_hello(Connection& connection, std::string_view rest,
                         TimePoint now) {
  const std::int64_t rank = take_number(rest).value_or(-1);
  take_word(rest);  // its process
  if (take_word(rest) != token_ || rank < 0 || rank >= ranks_) return;
  connection.rank = static_cast<int>(rank);
  watch_.hello(connection.rank, std::string(rest), now);
}

void Monitor::answer() {
  const std::string line = "ok " + to_text(watch_.progress(0));
  for (Connection& each : connections_) {
    each.socket.flush();
    if (each.rank >= 0 && each.socket.idle()) each.socket.send(line);
  }
}

void Monitor::broadcast(const std::string& line) {
  std::stable_partition(connections_.begin(), connections_.end(),
                        [](const Connection& each) { return each.rank != 0; });
  for (Connection& each : connections_) {
    if (each.rank == 0) {
      for (Connection& other : connections_) other.socket.drain(kLastWords);
    }
    each.socket.send(line);
  }
  for (Connection& each : connections_) each.socket.drain(kLastWords);
}

}  // namespace merak::dist
