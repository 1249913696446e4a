// Node 0's side: it listens, and decides for all.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "merak/base/error.h"
#include "merak/dist/launch/heartbeat_lines.h"
#include "merak/dist/launch/node_link.h"
#include "merak/dist/launch/node_wire.h"

namespace merak::dist {

namespace {

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
      poll(entries.data(), entries.size(), kNodeTickMs);
      service(clock_now());
    }
    failure_.reset();
    all_done_ = false;
    return start();
  }

  void add_to_poll(std::vector<pollfd>& entries) const override {
    entries.push_back({listener_.fd.get(), POLLIN, 0});
    for (const auto& wire : newcomers_) {
      entries.push_back(wire->socket().poll_entry());
    }
    for (const Node& node : nodes_) {
      if (node.wire) entries.push_back(node.wire->socket().poll_entry());
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
    std::unique_ptr<NodeWire> wire;  // none for this one, and for a lost one
    int local_ranks = 0;
    bool joined = false;
    bool done = false;
  };

  bool all(bool Node::*member) const {
    return std::ranges::all_of(nodes_, member);
  }

  [[noreturn]] void fail_missing() const {
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].joined) missing.push_back(i);
    }
    fail_runtime(
        "waited {:.3g} s for node{} {} of {} at {}:{}; is `merak launch` "
        "running there, with that --rendezvous?",
        seconds_of(options_.join_timeout), missing.size() == 1 ? "" : "s",
        fmt::join(missing, ", "), options_.nodes, options_.host, options_.port);
  }

  void accept_all() {
    while (true) {
      FileDescriptor fd(
          accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid()) break;
      newcomers_.push_back(std::make_unique<NodeWire>(std::move(fd)));
    }
    for (auto& wire : newcomers_) {
      const std::vector<std::string> lines = wire->read(clock_now());
      if (lines.empty()) {
        if (!wire->socket().open()) wire.reset();
        continue;
      }
      adopt(std::move(wire), lines.front());
    }
    std::erase(newcomers_, nullptr);
  }

  void adopt(std::unique_ptr<NodeWire> wire, const std::string& text) {
    Line line = parse_line(text);
    const std::int64_t index = take_number(line.rest).value_or(-1);
    if (line.word != "join" || index < 1 || index >= options_.nodes) {
      wire->socket().send(to_text(
          {2, fmt::format("node 0 expects {} nodes and does not know this one "
                          "({}); check --nnodes and --node-rank",
                          options_.nodes, index)}));
      return;
    }
    Node& node = nodes_[static_cast<std::size_t>(index)];
    if (node.wire) {
      wire->socket().send(to_text(
          {2, fmt::format("there is already a node {}; check --node-rank",
                          index)}));
      return;
    }
    node.wire = std::move(wire);
    join(node, line.rest);
  }

  static void join(Node& node, std::string_view rest) {
    node.local_ranks = static_cast<int>(take_number(rest).value_or(1));
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
    if (!node.wire->socket().open()) {
      lose(index, "is gone");
    } else if (node.wire->silent_for(now) >= options_.silence) {
      lose(index, fmt::format("has been silent for {:.0f} s",
                              seconds_of(node.wire->silent_for(now))));
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
        node.wire->socket().send(fmt::format(
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
      node.wire->say_and_drain(line);
    }
  }

  NodeOptions options_;
  Listener listener_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<NodeWire>> newcomers_;  // before their join
  std::optional<Failure> failure_;
  bool all_done_ = false;
};

}  // namespace

std::unique_ptr<NodeLink> make_first_node(const NodeOptions& options) {
  return std::make_unique<FirstNode>(options);
}

}  // namespace merak::dist
