// The side of the nodes beside the first: it connects, and follows.
#include <thread>
#include <utility>

#include "merak/base/error.h"
#include "merak/dist/launch/heartbeat_lines.h"
#include "merak/dist/launch/node_link.h"
#include "merak/dist/launch/node_wire.h"

namespace merak::dist {

namespace {

class OtherNode : public NodeLink {
 public:
  explicit OtherNode(const NodeOptions& options) : options_(options) {}

  std::optional<Placement> next(
      const std::function<bool()>& interrupted) override {
    const TimePoint deadline = clock_now() + options_.join_timeout;
    if (!wire_ && !connect(deadline, interrupted)) return std::nullopt;
    placement_.reset();
    wire_->socket().send(
        fmt::format("join {} {}", options_.node_rank, options_.local_ranks));
    failure_.reset();
    while (!placement_) {
      if (interrupted()) return std::nullopt;
      if (failure_) throw Error(ErrorKind::kRuntime, failure_->line);
      if (clock_now() >= deadline) {
        fail_runtime("waited {:.3g} s at {}:{} for the other nodes to join",
                     seconds_of(options_.join_timeout), options_.host,
                     options_.port);
      }
      std::vector<pollfd> entries;
      add_to_poll(entries);
      poll(entries.data(), entries.size(), kNodeTickMs);
      service(clock_now());
    }
    all_done_ = false;
    return std::move(placement_);
  }

  void add_to_poll(std::vector<pollfd>& entries) const override {
    if (wire_ && wire_->socket().open()) {
      entries.push_back(wire_->socket().poll_entry());
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
    if (!wire_->socket().open()) {
      failure_ = lost("is gone");
    } else if (wire_->silent_for(now) >= options_.silence) {
      failure_ = lost(fmt::format("has been silent for {:.0f} s",
                                  seconds_of(wire_->silent_for(now))));
    } else {
      wire_->keep_alive(now);
    }
  }

  void report_failure(const Failure& failure) override {
    if (failure_) return;
    failure_ = failure;
    wire_->say_and_drain(to_text(failure));
  }
  void report_done() override { wire_->socket().send("done"); }
  std::optional<Failure> failure() const override { return failure_; }
  bool all_done() const override { return all_done_; }

 private:
  // False if it was interrupted.
  bool connect(TimePoint deadline, const std::function<bool()>& interrupted) {
    while (!interrupted()) {
      Connected made = try_connect_tcp(options_.host, options_.port,
                                       std::chrono::milliseconds(kNodeTickMs));
      if (made.fd.valid()) {
        wire_ = std::make_unique<NodeWire>(std::move(made.fd));
        return true;
      }
      if (clock_now() >= deadline) {
        fail_runtime("cannot reach the launcher of node 0 at {}:{}: {}",
                     options_.host, options_.port, made.reason);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(kNodeTickMs));
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
    return {1,
            fmt::format("the launcher of node 0, at {}:{}, {}; ending the "
                        "ranks of node {}",
                        options_.host, options_.port, how, options_.node_rank)};
  }

  NodeOptions options_;
  std::unique_ptr<NodeWire> wire_;
  std::optional<Placement> placement_;
  std::optional<Failure> failure_;
  bool all_done_ = false;
};

}  // namespace

std::unique_ptr<NodeLink> make_other_node(const NodeOptions& options) {
  return std::make_unique<OtherNode>(options);
}

}  // namespace merak::dist
