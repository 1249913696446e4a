#include "merak/dist/launch/node_link.h"

#include <utility>

#include "merak/base/error.h"
#include "merak/dist/launch/heartbeat_lines.h"
#include "merak/dist/launch/node_wire.h"

namespace merak::dist {

namespace {

constexpr std::chrono::milliseconds kAliveEvery{1000};

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

}  // namespace

TimePoint clock_now() { return std::chrono::steady_clock::now(); }

double seconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

std::string to_text(const Failure& failure) {
  return fmt::format("failed {} {}", failure.exit_code, failure.line);
}

Failure parse_failure(std::string_view rest) {
  const std::int64_t code = take_number(rest).value_or(1);
  return {static_cast<int>(code), std::string(rest)};
}

NodeWire::NodeWire(FileDescriptor fd)
    : socket_(std::move(fd)), heard_(clock_now()), told_(clock_now()) {}

std::vector<std::string> NodeWire::read(TimePoint now) {
  std::vector<std::string> lines = socket_.read_lines();
  if (!lines.empty()) heard_ = now;
  return lines;
}

std::chrono::steady_clock::duration NodeWire::silent_for(TimePoint now) const {
  return now - heard_;
}

void NodeWire::keep_alive(TimePoint now) {
  socket_.flush();
  if (now - told_ < kAliveEvery || !socket_.idle()) return;
  socket_.send("alive");
  told_ = now;
}

void NodeWire::say_and_drain(const std::string& line) {
  socket_.send(line);
  socket_.drain(kNodeLastWords);
}

std::unique_ptr<NodeLink> make_node_link(const NodeOptions& options) {
  if (options.nodes == 1) return std::make_unique<SingleNode>(options);
  return options.node_rank == 0 ? make_first_node(options)
                                : make_other_node(options);
}

}  // namespace merak::dist
