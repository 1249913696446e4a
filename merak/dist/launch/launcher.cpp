#include "merak/dist/launch/launcher.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <optional>
#include <utility>

#include "merak/base/error.h"
#include "merak/dist/launch/node_link.h"
#include "merak/dist/launch/rank_group.h"

namespace merak::dist {

namespace {

constexpr int kTickMs = 200;

// Turns the signals that concern a launcher into reads, for its lifetime.
class SignalReader {
 public:
  SignalReader() {
    sigset_t set;
    sigemptyset(&set);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
      sigaddset(&set, each);
    }
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    // Inherited SIG_IGN would throw away the exits of children.
    child_handler_ = signal(SIGCHLD, SIG_DFL);
    fd_ = FileDescriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!fd_.valid()) fail_runtime("cannot read signals");
  }
  ~SignalReader() {
    take();  // what came late has nobody left to act on it
    signal(SIGCHLD, child_handler_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;

  int fd() const { return fd_.get(); }
  // The last signal that asks to stop, since the last call. SIGCHLD only wakes
  // poll().
  std::optional<int> take() {
    std::optional<int> taken;
    signalfd_siginfo info{};
    while (read(fd_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) taken = static_cast<int>(info.ssi_signo);
    }
    return taken;
  }

 private:
  sigset_t before_{};
  sighandler_t child_handler_ = SIG_DFL;
  FileDescriptor fd_;
};

void check_options(const LaunchOptions& options) {
  if (options.command.empty()) {
    fail_usage("no program to launch; give one after --");
  }
  if (options.local_ranks < 1) {
    fail_usage("the number of local ranks is {}; it must be at least 1",
               options.local_ranks);
  }
  if (options.max_restarts < 0) {
    fail_usage("--max-restarts is {}; it must not be negative",
               options.max_restarts);
  }
  if (options.nodes < 1 || options.node_rank < 0 ||
      options.node_rank >= options.nodes) {
    fail_usage("--node-rank is {} of {} nodes; it counts from 0 to {}",
               options.node_rank, options.nodes, options.nodes - 1);
  }
  if (options.nodes > 1 && options.rendezvous.empty()) {
    fail_usage(
        "--nnodes {} needs --rendezvous HOST:PORT, the address of node "
        "0 and a free port there",
        options.nodes);
  }
}

NodeOptions node_options(const LaunchOptions& options) {
  NodeOptions node;
  node.nodes = options.nodes;
  node.node_rank = options.node_rank;
  node.local_ranks = options.local_ranks;
  if (!options.rendezvous.empty()) {
    HostPort at = parse_host_port(options.rendezvous);
    node.host = std::move(at.host);
    node.port = at.port;
  }
  return node;
}

class Launch {
 public:
  explicit Launch(const LaunchOptions& options)
      : options_(options), link_(make_node_link(node_options(options))) {}

  LaunchResult run() {
    while (true) {
      std::optional<Placement> placement =
          link_->next([this] { return note_signal(); });
      if (!placement) break;  // a signal came before anything ran
      run_attempt(std::move(*placement));
      if (result_.failure.empty() || signal_ ||
          result_.restarts == options_.max_restarts) {
        break;
      }
      ++result_.restarts;
      say(fmt::format("starting all ranks again (restart {} of {})",
                      result_.restarts, options_.max_restarts));
    }
    if (signal_ && result_.exit_code == 0 && !ended_in_order_) {
      result_.exit_code = 128 + *signal_;
    }
    return result_;
  }

 private:
  void say(const std::string& line) const {
    if (options_.on_message) options_.on_message(line);
  }

  // True once a signal has asked to stop.
  bool note_signal() {
    if (const std::optional<int> signal = signals_.take()) signal_ = signal;
    return signal_.has_value();
  }

  GroupRequest request_of(Placement placement) const {
    GroupRequest request;
    request.command = options_.command;
    request.environment = options_.environment;
    request.local_ranks = options_.local_ranks;
    request.first_rank = placement.first_rank;
    request.world_size = placement.world_size;
    request.node_rank = options_.node_rank;
    request.host = placement.host;
    request.port = placement.port;
    request.restart = result_.restarts;
    request.max_restarts = options_.max_restarts;
    if (options_.hand_over_listener) {
      request.listener = std::move(placement.listener);
    }
    request.watch = options_.watch;
    return request;
  }

  void wait(const RankGroup& group) const {
    std::vector<pollfd> entries = {{signals_.fd(), POLLIN, 0}};
    group.add_to_poll(entries);
    link_->add_to_poll(entries);
    poll(entries.data(), entries.size(), kTickMs);
  }

  void run_attempt(Placement placement) {
    result_.exit_code = 0;
    result_.failure.clear();
    ended_in_order_ = false;
    RankGroup group(request_of(std::move(placement)));
    bool reported = false;
    while (!link_->all_done()) {
      wait(group);
      const TimePoint now = std::chrono::steady_clock::now();
      group.service(now);
      link_->service(now);
      if (const std::optional<int> signal = signals_.take()) {
        return stop(group, *signal);
      }
      if (const std::optional<Verdict> verdict = group.check(now)) {
        link_->report_failure({verdict->exit_code, verdict->line});
      }
      if (const std::optional<Failure> failure = link_->failure()) {
        return fail(group, *failure);
      }
      // Bad exits become a verdict, once they have settled.
      if (!reported && !group.running() && group.exit_code() == 0 &&
          !group.suspicious()) {
        reported = true;
        link_->report_done();
      }
    }
    ended_in_order_ = true;
  }

  void fail(RankGroup& group, const Failure& failure) {
    result_.exit_code = failure.exit_code;
    result_.failure = failure.line;
    say(failure.line);
    group.end(failure.line, options_.grace);
  }

  // The user wants to stop: ranks may save first.
  void stop(RankGroup& group, int signal) {
    signal_ = signal;
    say(fmt::format("signal {}: asking all ranks to stop", signal));
    TimePoint deadline = std::chrono::steady_clock::now() + options_.stop_grace;
    group.forward(signal);
    while (group.running()) {
      wait(group);
      const TimePoint now = std::chrono::steady_clock::now();
      group.service(now);
      link_->service(now);
      if (signals_.take()) deadline = std::min(deadline, now);
      if (now >= deadline || link_->failure()) {
        group.end("the run was stopped", options_.grace);
      }
    }
    result_.exit_code = group.exit_code();
    ended_in_order_ = result_.exit_code == 0;
    if (options_.nodes > 1) {
      link_->report_failure(
          {128 + signal, fmt::format("node {} was stopped by signal {}",
                                     options_.node_rank, signal)});
    }
  }

  const LaunchOptions& options_;
  SignalReader signals_;
  std::unique_ptr<NodeLink> link_;
  std::optional<int> signal_;
  bool ended_in_order_ = false;
  LaunchResult result_;
};

}  // namespace

LaunchResult launch(const LaunchOptions& options) {
  check_options(options);
  return Launch(options).run();
}

HostPort parse_host_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  HostPort parsed;
  if (colon != std::string::npos) {
    parsed.host = text.substr(0, colon);
    const char* end = text.data() + text.size();
    const auto [stop, error] =
        std::from_chars(text.data() + colon + 1, end, parsed.port);
    if (error != std::errc() || stop != end) parsed.port = 0;
  }
  if (parsed.host.starts_with('[') && parsed.host.ends_with(']')) {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  }
  if (parsed.host.empty() || parsed.port < 1 || parsed.port > 65535) {
    fail_usage("'{}' is no HOST:PORT, such as node0:29500", text);
  }
  return parsed;
}

}  // namespace merak::dist
