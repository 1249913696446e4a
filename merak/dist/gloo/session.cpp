#include "merak/dist/gloo/session.h"

#include <c10/util/Logging.h>

#include "merak/base/error.h"
#include "merak/dist/in_process.h"
#include "merak/dist/launch/heartbeat_lines.h"

namespace merak::dist {

namespace {

constexpr std::chrono::milliseconds kForEver = std::chrono::hours(24 * 365);

HeartbeatOptions heartbeat_options(int rank, const SessionOptions& options) {
  HeartbeatOptions heartbeat;
  heartbeat.rank = rank;
  heartbeat.label = options.label;
  heartbeat.on_end = options.on_end;
  return heartbeat;
}

}  // namespace

Session::Session(const LaunchEnvironment& environment,
                 const SessionOptions& options)
    : environment_(environment),
      gloo_(gloo_options(environment)),
      heartbeat_(heartbeat_options(environment.rank, options)) {
  gloo_.timeout = options.operation_timeout;
  if (environment_.launcher == Launcher::kNone) {
    store_ = std::make_unique<InProcessStore>();
    factory_ = InProcessWorld(1).factory(0);
    return;
  }
  const bool launcher_watches =
      heartbeat_.attach_launcher(environment_.heartbeat_fd);
  auto store = std::make_unique<TcpStore>(environment_, options.start_timeout);
  tcp_store_ = store.get();
  store_ = std::move(store);
  start_barrier(*store_, rank(), world_size(), options.start_timeout);
  if (launcher_watches) {
    watcher_ = "the launcher";
  } else {
    join_monitor(options);
  }
  factory_ = make_gloo_factory(*tcp_store_, rank(), world_size(), gloo_);
}

void Session::join_monitor(const SessionOptions& options) {
  const std::string key = "monitor";
  if (rank() == 0) {
    const bool local = gloo_.address.starts_with("127.");
    monitor_ = std::make_unique<Monitor>(
        world_size(), local ? environment_.host : "", options.watch);
    store_->set(key, fmt::format("{} {}", monitor_->port(), monitor_->token()));
  }
  const std::string found =
      store_->wait(key, options.start_timeout).value_or("");
  std::string_view rest = found;
  const std::int64_t port = take_number(rest).value_or(0);
  if (port == 0) throw PeerError("rank 0 does not watch the run");
  heartbeat_.attach_monitor(environment_.host, static_cast<int>(port),
                            std::string(rest), options.start_timeout);
  watcher_ = "rank 0";
}

void Session::finish() {
  if (environment_.launcher != Launcher::kNone) {
    start_barrier(*store_, rank(), world_size(), kForEver, "finish");
    heartbeat_.finish();
    // Rank 0 hosts the store: it stays until the others have read that.
    if (store_->add("left", 1) == world_size()) store_->set("all left", "yes");
    if (rank() == 0) store_->wait("all left", std::chrono::seconds(10));
  } else {
    heartbeat_.finish();
  }
}

void quiet_c10d() { FLAGS_caffe2_log_level = c10::GLOG_ERROR; }

}  // namespace merak::dist
