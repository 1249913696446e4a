// What the tests of launcher and monitor start as real processes.
//
//   test_program rank MODE FOLDER             a rank, under a launcher
//   test_program watched RANK RANKS FOLDER    a rank, under a Monitor of rank 0
//   test_program launch RANKS RESTARTS MODE FOLDER [NODES NODE HOST:PORT]
//
// They leave their findings as files in FOLDER.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/dist/launch/heartbeat.h"
#include "merak/dist/launch/launch_environment.h"
#include "merak/dist/launch/launcher.h"
#include "merak/dist/launch/monitor.h"

namespace merak::dist {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

void note(const fs::path& folder, const std::string& name,
          const std::string& text) {
  write_file_atomic(folder / name, text);
}

volatile std::sig_atomic_t stop_requested = 0;

HeartbeatOptions heartbeat_options(int rank, const fs::path& folder,
                                   bool obedient = true) {
  HeartbeatOptions options;
  options.rank = rank;
  options.label = fmt::format("[pp{} dp0 tp0]", rank);
  options.on_end = [=](const std::string& line) {
    note(folder, fmt::format("end-{}", rank), line);
    if (obedient) _exit(3);
  };
  return options;
}

// Steps of four micro-batches, for ever; ends by a signal or by on_end.
void train(Heartbeat& heartbeat, int rank) {
  for (std::int64_t step = 0;; ++step) {
    for (std::int64_t micro_batch = 0; micro_batch < 4; ++micro_batch) {
      heartbeat.set_progress(step, micro_batch,
                             fmt::format("forward of stage {}", rank));
      std::this_thread::sleep_for(milliseconds(10));
      if (stop_requested != 0) return;
    }
  }
}

std::string describe(const LaunchEnvironment& environment) {
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "unset" : value);
  };
  return fmt::format(
      "rank {} of {}, local {} of {}, {}:{} restart {} launcher {} threads {} "
      "cores {} listener {} extra {}",
      environment.rank, environment.world_size, environment.local_rank,
      environment.local_world_size, environment.host, environment.port,
      environment.restart, name_of(environment.launcher),
      text("OMP_NUM_THREADS"), CPU_COUNT(&cores),
      environment.listener_fd >= 0 &&
          fcntl(environment.listener_fd, F_GETFD) >= 0,
      text("MERAK_TEST_EXTRA"));
}

int run_rank(const std::string& mode, const fs::path& folder) {
  const LaunchEnvironment environment = read_launch_environment();
  const int rank = environment.rank;
  note(folder, fmt::format("pid-{}-{}", environment.restart, rank),
       std::to_string(getpid()));
  if (mode == "stranger") {
    if (rank == 1) return 5;
    while (true) pause();
  }
  if (mode == "deaf") std::signal(SIGTERM, SIG_IGN);
  if (mode == "save") {
    std::signal(SIGTERM, [](int) { stop_requested = 1; });
  }
  Heartbeat heartbeat(heartbeat_options(rank, folder, mode != "deaf"));
  if (!heartbeat.attach_launcher(environment.heartbeat_fd)) return 9;
  heartbeat.set_progress(0, 0, "start");
  if (mode == "describe") {
    note(folder, fmt::format("environment-{}", rank), describe(environment));
    heartbeat.finish();
    return 0;
  }
  if (mode == "report") {
    // The victim is faster than the culprit.
    std::this_thread::sleep_for(milliseconds(rank == 1 ? 300 : 100));
    heartbeat.fail(rank == 1 ? "the loss is NaN" : "lost rank 1", rank != 1);
    return rank == 1 ? 7 : 1;
  }
  if (mode == "fail-once" && environment.restart == 0 && rank == 1) return 4;
  if (mode == "fail-once" && environment.restart > 0) {
    heartbeat.finish();
    return 0;
  }
  if (mode == "fail-always" && rank == 1) return 4;
  train(heartbeat, rank);
  note(folder, fmt::format("saved-{}", rank), "saved");
  heartbeat.finish();
  return 0;
}

std::string wait_for_file(const fs::path& path) {
  while (!fs::exists(path)) std::this_thread::sleep_for(milliseconds(20));
  return read_file(path);
}

int run_watched(int rank, int ranks, const fs::path& folder) {
  note(folder, fmt::format("pid-0-{}", rank), std::to_string(getpid()));
  std::unique_ptr<Monitor> monitor;
  if (rank == 0) {
    monitor = std::make_unique<Monitor>(ranks, "127.0.0.1", WatchOptions{});
    note(folder, "monitor",
         fmt::format("{} {}", monitor->port(), monitor->token()));
  }
  const std::string at = wait_for_file(folder / "monitor");
  const std::size_t space = at.find(' ');
  Heartbeat heartbeat(heartbeat_options(rank, folder));
  heartbeat.attach_monitor("127.0.0.1", std::stoi(at.substr(0, space)),
                           at.substr(space + 1), milliseconds(10000));
  note(folder, fmt::format("attached-{}", rank), "");
  train(heartbeat, rank);
  return 0;
}

int run_launcher(const std::vector<std::string>& arguments) {
  const fs::path folder = arguments[3];
  LaunchOptions options;
  options.local_ranks = std::stoi(arguments[0]);
  options.max_restarts = std::stoi(arguments[1]);
  options.command = {fs::read_symlink("/proc/self/exe"), "rank", arguments[2],
                     folder};
  options.environment = {"MERAK_TEST_EXTRA=yes"};
  options.hand_over_listener = true;
  if (arguments.size() > 4) {
    options.nodes = std::stoi(arguments[4]);
    options.node_rank = std::stoi(arguments[5]);
    options.rendezvous = arguments[6];
  }
  std::ofstream messages(folder /
                         fmt::format("messages-{}", options.node_rank));
  options.on_message = [&](const std::string& line) {
    messages << line << std::endl;
  };
  return launch(options).exit_code;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "rank") {
    return run_rank(arguments[1], arguments[2]);
  }
  if (arguments.size() == 4 && arguments[0] == "watched") {
    return run_watched(std::stoi(arguments[1]), std::stoi(arguments[2]),
                       arguments[3]);
  }
  if (arguments.size() >= 5 && arguments[0] == "launch") {
    return run_launcher({arguments.begin() + 1, arguments.end()});
  }
  return 2;
}

}  // namespace
}  // namespace merak::dist

int main(int argc, char** argv) {
  // Whatever goes wrong with a test, nothing stays.
  alarm(120);
  try {
    return merak::dist::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
