#include "merak/dist/launch/node_link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <thread>
#include <utility>

#include <fmt/format.h>

#include "merak/base/error.h"
#include "merak/dist/launch/heartbeat_lines.h"

namespace merak::dist {

namespace {

constexpr int kTickMs = 200;
constexpr std::chrono::milliseconds kAliveEvery{1000};
constexpr std::chrono::milliseconds kLastWords{1000};

TimePoint clock_now() { return std::chrono::steady_clock::now(); }

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

std::string to_text(const Failure& failure) {
  return fmt::format("failed {} {}", failure.exit_code, failure.line);
}
Failure parse_failure(std::string_view rest) {
  const std::int64_t code = take_number(rest).value_or(1);
  return {static_cast<int>(code), std::string(rest)};
}

// One connection between launchers.
struct Wire {
  LineSocket socket{FileDescriptor()};
  TimePoint heard;
  TimePoint told;

  explicit Wire(FileDescriptor fd)
      : socket(std::move(fd)), heard(clock_now()), told(clock_now()) {}

  void keep_alive(TimePoint now) {
    socket.flush();
    if (now - told < kAliveEvery || !socket.idle()) return;
    socket.send("alive");
    told = now;
  }
  std::vector<std::string> read(TimePoint now) {
    std::vector<std::string> lines = socket.read_lines();
    if (!lines.empty()) heard = now;
    return lines;
  }
};

class SingleNode : public NodeLink {
 public:
  explicit SingleNode(const NodeOptions& options) : options_(options) {}

  std::optional<Placement> next(const std::function<bool()>&) override {
    failure_.reset();
    done_ = false;
    const std::string host =
        options_.host.empty() ? "127.0.0.1" : options_.host;
    Listener listener = listen_tcp(host, options_.port);
    return Placement{0, options_.local_ranks, host, listener.port,
                     std::move(listener.fd)};
  }
  void add_to_poll(std::vector<pollfd>&) const override {}
  void service(TimePoint) override {}
  void report_failure(const Failure& failure) override { failure_ = failure; }
  void report_done() override { done_ = true; }
  std::optional<Failure> failure() const override { return failure_; }
  bool all_done() const override { return done_; }

 private:
  NodeOptions options_;
  std::optional<Failure> failure_;
  bool done_ = false;
};

class FirstNode : public NodeLink {
 public:
  explicit FirstNode(const NodeOptions& options)
      : options_(options),
        listener_(listen_tcp("", options.port)),
        nodes_(static_cast<std::size_t>(options.nodes)) {
    fcntl(listener_.fd.get(), F_SETFL, O_NONBLOCK);
  }

  std::optional<Placement> next(
      const std::function<bool()>& interrupted) override {
    const TimePoint deadline = clock_now() + options_.join_timeout;
    nodes_.front().joined = true;
    nodes_.front().local_ranks = options_.local_ranks;
    while (!all(&Node::joined)) {
      if (interrupted()) return std::nullopt;
      if (clock_now() >= deadline) fail_missing();
      std::vector<pollfd> entries;
      add_to_poll(entries);
      poll(entries.data(), entries.size(), kTickMs);
      service(clock_now());
    }
    failure_.reset();
    all_done_ = false;
    return start();
  }

  void add_to_poll(std::vector<pollfd>& entries) const override {
    entries.push_back({listener_.fd.get(), POLLIN, 0});
    for (const auto& wire : newcomers_) {
      entries.push_back(wire->socket.poll_entry());
    }
    for (const Node& node : nodes_) {
      if (node.wire) entries.push_back(node.wire->socket.poll_entry());
    }
  }

  void service(TimePoint now) override {
    accept_all();
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      service_node(static_cast<int>(i), now);
    }
    if (!all_done_ && !failure_ && all(&Node::done)) {
      all_done_ = true;
      broadcast("done");
    }
  }

  void report_failure(const Failure& failure) override {
    if (failure_) return;
    failure_ = failure;
    broadcast(to_text(failure));
  }
  void report_done() override {
    nodes_.front().done = true;
    service(clock_now());
  }
  std::optional<Failure> failure() const override { return failure_; }
  bool all_done() const override { return all_done_; }

 private:
  struct Node {
    std::unique_ptr<Wire> wire;  // none for this one, and for a lost one
    int local_ranks = 0;
    bool joined = false;
    bool done = false;
  };

  bool all(bool Node::*member) const {
    for (const Node& node : nodes_) {
      if (!(node.*member)) return false;
    }
    return true;
  }

  [[noreturn]] void fail_missing() const {
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].joined) missing.push_back(i);
    }
    fail_runtime(
        "waited {:.3g} s for node{} {} of {} at {}:{}; is `merak launch` "
        "running there, with that --rendezvous?",
        seconds(options_.join_timeout), missing.size() == 1 ? "" : "s",
        fmt::join(missing, ", "), options_.nodes, options_.host,
        options_.port);
  }

  void accept_all() {
    while (true) {
      FileDescriptor fd(
          accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid()) break;
      newcomers_.push_back(std::make_unique<Wire>(std::move(fd)));
    }
    for (auto& wire : newcomers_) {
      const std::vector<std::string> lines = wire->read(clock_now());
      if (lines.empty()) {
        if (!wire->socket.open()) wire.reset();
        continue;
      }
      adopt(std::move(wire), lines.front());
    }
    std::erase(newcomers_, nullptr);
  }

  void adopt(std::unique_ptr<Wire> wire, const std::string& text) {
    Line line = parse_line(text);
    const std::int64_t index = take_number(line.rest).value_or(-1);
    if (line.word != "join" || index < 1 || index >= options_.nodes) {
      wire->socket.send(to_text(
          {2, fmt::format("node 0 expects {} nodes and does not know this one "
                          "({}); check --nnodes and --node-rank",
                          options_.nodes, index)}));
      return;
    }
    Node& node = nodes_[static_cast<std::size_t>(index)];
    if (node.wire) {
      wire->socket.send(to_text(
          {2, fmt::format("there is already a node {}; check --node-rank",
                          index)}));
      return;
    }
    node.wire = std::move(wire);
    join(node, line.rest);
  }

  void join(Node& node, std::string_view rest) {
    node.local_ranks =
        static_cast<int>(take_number(rest).value_or(1));
    node.joined = true;
  }

  void service_node(int index, TimePoint now) {
    Node& node = nodes_[static_cast<std::size_t>(index)];
    if (!node.wire) return;
    for (const std::string& text : node.wire->read(now)) {
      Line line = parse_line(text);
      if (line.word == "join") {
        take_word(line.rest);
        join(node, line.rest);
      } else if (line.word == "failed") {
        report_failure(parse_failure(line.rest));
      } else if (line.word == "done") {
        node.done = true;
      }
    }
    if (!node.wire->socket.open()) {
      lose(index, "is gone");
    } else if (now - node.wire->heard >= options_.silence) {
      lose(index, fmt::format("has been silent for {:.0f} s",
                              seconds(now - node.wire->heard)));
    } else {
      node.wire->keep_alive(now);
    }
  }

  void lose(int index, const std::string& how) {
    Node& node = nodes_[static_cast<std::size_t>(index)];
    node.wire.reset();
    node.joined = false;
    if (!all_done_) {
      report_failure({1, fmt::format("the launcher of node {} {}; ending the "
                                     "other ranks",
                                     index, how)});
    }
  }

  Placement start() {
    Listener store = listen_tcp("", 0);
    Placement placement{0, 0, options_.host, store.port, std::move(store.fd)};
    for (const Node& node : nodes_) placement.world_size += node.local_ranks;
    int first = 0;
    for (Node& node : nodes_) {
      if (node.wire) {
        node.wire->socket.send(fmt::format(
            "start {} {} {}", first, placement.world_size, placement.port));
      }
      first += node.local_ranks;
      node.joined = node.done = false;
    }
    return placement;
  }

  void broadcast(const std::string& line) {
    for (Node& node : nodes_) {
      if (!node.wire) continue;
      node.wire->socket.send(line);
      node.wire->socket.drain(kLastWords);
    }
  }

  NodeOptions options_;
  Listener listener_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Wire>> newcomers_;  // before their join
  std::optional<Failure> failure_;
  bool all_done_ = false;
};

class OtherNode : public NodeLink {
 public:
  explicit OtherNode(const NodeOptions& options)
      : options_(options) {}

  std::optional<Placement> next(
      const std::function<bool()>& interrupted) override {
    const TimePoint deadline = clock_now() + options_.join_timeout;
    if (!wire_ && !connect(deadline, interrupted)) return std::nullopt;
    placement_.reset();
    wire_->socket.send(fmt::format("join {} {}", options_.node_rank,
                                  options_.local_ranks));
    failure_.reset();
    while (!placement_) {
      if (interrupted()) return std::nullopt;
      if (failure_) throw Error(ErrorKind::kRuntime, failure_->line);
      if (clock_now() >= deadline) {
        fail_runtime("waited {:.3g} s at {}:{} for the other nodes to join",
                     seconds(options_.join_timeout), options_.host,
                     options_.port);
      }
      std::vector<pollfd> entries;
      add_to_poll(entries);
      poll(entries.data(), entries.size(), kTickMs);
      service(clock_now());
    }
    all_done_ = false;
    return std::move(placement_);
  }

  void add_to_poll(std::vector<pollfd>& entries) const override {
    if (wire_ && wire_->socket.open()) {
      entries.push_back(wire_->socket.poll_entry());
    }
  }

  void service(TimePoint now) override {
    for (const std::string& text : wire_->read(now)) {
      Line line = parse_line(text);
      if (line.word == "start") read_start(line.rest);
      if (line.word == "done") all_done_ = true;
      if (line.word == "failed" && !failure_) {
        failure_ = parse_failure(line.rest);
      }
    }
    if (failure_ || all_done_) return;
    if (!wire_->socket.open()) {
      failure_ = lost("is gone");
    } else if (now - wire_->heard >= options_.silence) {
      failure_ = lost(fmt::format("has been silent for {:.0f} s",
                                  seconds(now - wire_->heard)));
    } else {
      wire_->keep_alive(now);
    }
  }

  void report_failure(const Failure& failure) override {
    if (failure_) return;
    failure_ = failure;
    wire_->socket.send(to_text(failure));
    wire_->socket.drain(kLastWords);
  }
  void report_done() override { wire_->socket.send("done"); }
  std::optional<Failure> failure() const override { return failure_; }
  bool all_done() const override { return all_done_; }

 private:
  // False if it was interrupted.
  bool connect(TimePoint deadline, const std::function<bool()>& interrupted) {
    while (!interrupted()) {
      Connected made = try_connect_tcp(options_.host, options_.port,
                                       std::chrono::milliseconds(kTickMs));
      if (made.fd.valid()) {
        wire_ = std::make_unique<Wire>(std::move(made.fd));
        return true;
      }
      if (clock_now() >= deadline) {
        fail_runtime("cannot reach the launcher of node 0 at {}:{}: {}",
                     options_.host, options_.port, made.reason);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(kTickMs));
    }
    return false;
  }
  void read_start(std::string_view rest) {
    const auto first = take_number(rest);
    const auto size = take_number(rest);
    const auto port = take_number(rest);
    if (!first || !size || !port) return;
    placement_ =
        Placement{static_cast<int>(*first), static_cast<int>(*size),
                  options_.host, static_cast<int>(*port), FileDescriptor()};
  }
  Failure lost(const std::string& how) const {
    return {1, fmt::format("the launcher of node 0, at {}:{}, {}; ending the "
                           "ranks of node {}",
                           options_.host, options_.port, how,
                           options_.node_rank)};
  }

  NodeOptions options_;
  std::unique_ptr<Wire> wire_;
  std::optional<Placement> placement_;
  std::optional<Failure> failure_;
  bool all_done_ = false;
};

}  // namespace

std::unique_ptr<NodeLink> make_node_link(const NodeOptions& options) {
  if (options.nodes == 1) return std::make_unique<SingleNode>(options);
  if (options.node_rank == 0) return std::make_unique<FirstNode>(options);
  return std::make_unique<OtherNode>(options);
}

}  // namespace merak::dist
