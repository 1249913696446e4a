#include "merak/dist/launch/launcher.h"

#include <spdlog/spdlog.h>

#include <memory>

#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"

namespace merak::cli {

Action add_launch(CLI::App& app) {
  auto options = std::make_shared<LaunchOptions>();
  app.add_option("-n,--ranks", options->ranks, "ranks on this host")
      ->required()
      ->check(within(1));
  app.add_option("--nnodes", options->nodes, "hosts, a launcher on each")
      ->check(within(1));
  app.add_option("--node-rank", options->node_rank, "this host's number")
      ->check(within(0));
  app.add_option("--rendezvous", options->rendezvous,
                 "HOST:PORT where the launcher of host 0 listens");
  app.add_option("--max-restarts", options->max_restarts,
                 "starts the ranks again after a failure, so often")
      ->check(within(0));
  app.add_option("PROGRAM", options->command,
                 "after --, the program and its arguments")
      ->required();
  return [options] { return launch(*options); };
}

int launch(const LaunchOptions& options) {
  dist::LaunchOptions request;
  request.command = options.command;
  request.local_ranks = options.ranks;
  request.max_restarts = options.max_restarts;
  request.nodes = options.nodes;
  request.node_rank = options.node_rank;
  request.rendezvous = options.rendezvous;
  request.on_message = [](const std::string& line) { spdlog::info(line); };
  return dist::launch(request).exit_code;
}

}  // namespace merak::cli
