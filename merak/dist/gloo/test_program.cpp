// A rank of a real run, for the tests of Session; under any launcher.
//
//   gloo_test_program rank MODE FOLDER
//   gloo_test_program launch RANKS MODE FOLDER
//
// MODE reduce: some hundred reductions, checked; train: reductions for ever.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "merak/base/file.h"
#include "merak/dist/gloo/session.h"
#include "merak/dist/launch/launcher.h"

namespace merak::dist {
namespace {

namespace fs = std::filesystem;

bool reduce(Communicator& group, std::int64_t step) {
  constexpr std::int64_t kCount = 4099;
  std::vector<double> data(kCount, static_cast<double>(group.rank() + step));
  group.all_reduce({data.data(), kCount, DType::kF64}, ReduceOp::kSum)->wait();
  const auto n = static_cast<double>(group.size());
  const double expected = n * (n - 1) / 2 + n * static_cast<double>(step);
  for (const double value : data) {
    if (value != expected) return false;
  }
  return true;
}

int run_rank(const std::string& mode, const fs::path& folder) {
  const LaunchEnvironment environment = read_launch_environment();
  const int rank = environment.rank;
  write_file_atomic(folder / fmt::format("pid-0-{}", rank),
                    std::to_string(getpid()));
  SessionOptions options;
  options.label = fmt::format("[pp0 dp{} tp0]", rank);
  options.on_end = [=](const std::string& line) {
    write_file_atomic(folder / fmt::format("end-{}", rank), line);
    _exit(3);
  };
  Session session(environment, options);
  std::vector<int> everyone;
  for (int i = 0; i < session.world_size(); ++i) everyone.push_back(i);
  const auto world = session.factory().make_group("world", everyone);
  write_file_atomic(folder / fmt::format("watcher-{}", rank),
                    session.watcher());
  try {
    for (std::int64_t step = 0; mode == "train" || step < 300; ++step) {
      session.heartbeat().set_progress(step, -1, "reduce gradients");
      if (!reduce(*world, step)) return 8;
    }
    session.finish();
  } catch (const PeerError& error) {
    session.heartbeat().fail(error.what(), true);
    sleep(10);  // on_end comes first
    _exit(4);
  }
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "rank") {
    return run_rank(arguments[1], arguments[2]);
  }
  if (arguments.size() == 4 && arguments[0] == "launch") {
    LaunchOptions options;
    options.local_ranks = std::stoi(arguments[1]);
    options.command = {fs::read_symlink("/proc/self/exe"), "rank", arguments[2],
                       arguments[3]};
    options.hand_over_listener = true;
    std::ofstream messages(fs::path(arguments[3]) / "messages-0");
    options.on_message = [&](const std::string& line) {
      messages << line << std::endl;
    };
    return launch(options).exit_code;
  }
  return 2;
}

}  // namespace
}  // namespace merak::dist

int main(int argc, char** argv) {
  alarm(120);
  merak::dist::quiet_c10d();
  try {
    return merak::dist::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
