#include "merak/dist/launch/launch_environment.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/dist/launch/launch_variables.h"

namespace merak::dist {

namespace {

// Variables by name, with the errors that a user can act on.
class Reader {
 public:
  explicit Reader(const EnvironmentSource& source) : source_(source) {}

  // An empty variable counts as unset.
  std::optional<std::string> text(const std::string& name) const {
    std::optional<std::string> value = source_.variable(name);
    if (value && value->empty()) return std::nullopt;
    return value;
  }
  bool has(const std::string& name) const { return text(name).has_value(); }
  bool resolves(const std::string& host) const {
    return source_.resolves(host);
  }

  std::optional<int> number(const std::string& name, int least,
                            int most) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    int parsed = 0;
    const char* end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, parsed);
    if (error != std::errc() || stop != end || parsed < least ||
        parsed > most) {
      fail_usage(
          "the environment variable {} is '{}'; it must be a number "
          "from {} to {}",
          name, *value, least, most);
    }
    return parsed;
  }

  // All of them, or the error which names the absent one.
  void require(const std::string& because,
               const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      if (!has(name)) {
        fail_usage(
            "the environment variable {} is set but {} is not; a "
            "launcher sets both, and without one unset {}",
            because, name, because);
      }
    }
  }

 private:
  const EnvironmentSource& source_;
};

constexpr int kMostRanks = 1 << 20;

struct Names {
  std::string rank, size, local_rank, local_size;
};

void check_below(const std::string& name, int value, const std::string& bound,
                 int limit) {
  if (value < limit) return;
  fail_usage(
      "the environment variable {} is {} but {} is {}; ranks count "
      "from 0, so {} must be less than {}",
      name, value, bound, limit, name, bound);
}

void read_ranks(const Reader& read, const Names& names,
                LaunchEnvironment& environment) {
  environment.rank = read.number(names.rank, 0, kMostRanks).value();
  environment.world_size = read.number(names.size, 1, kMostRanks).value();
  check_below(names.rank, environment.rank, names.size, environment.world_size);
  environment.local_rank =
      read.number(names.local_rank, 0, kMostRanks).value_or(0);
  environment.local_world_size =
      read.number(names.local_size, 1, kMostRanks).value_or(0);
  check_below(names.local_rank, environment.local_rank, names.size,
              environment.world_size);
  if (environment.local_world_size == 0) return;
  check_below(names.local_rank, environment.local_rank, names.local_size,
              environment.local_world_size);
  if (environment.local_world_size > environment.world_size) {
    fail_usage(
        "the environment variable {} is {} but {} is {}; a host cannot "
        "have more ranks than the run",
        names.local_size, environment.local_world_size, names.size,
        environment.world_size);
  }
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Ranks derive a port from what only they share. Below the range that Linux
// hands out to connections (32768 and up), above the well-known ones.
int derived_port(std::string_view job) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : job) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return 15000 + static_cast<int>(hash % 17000);
}

LaunchEnvironment read_torchrun(const Reader& read) {
  const bool has_rank = read.has("RANK");
  read.require(has_rank ? "RANK" : "WORLD_SIZE",
               {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"});
  LaunchEnvironment environment;
  environment.launcher = Launcher::kTorchrun;
  read_ranks(read, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
             environment);
  environment.host = read.text("MASTER_ADDR").value();
  environment.port = read.number("MASTER_PORT", 1, 65535).value();
  if (environment.local_world_size == 0 && is_loopback(environment.host)) {
    environment.local_world_size = environment.world_size;
  }
  environment.restart =
      read.number("TORCHELASTIC_RESTART_COUNT", 0, kMostRanks).value_or(0);
  environment.store_is_there =
      read.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (const auto fd = read.number(kHeartbeatVariable, 0, kMostRanks)) {
    environment.launcher = Launcher::kMerak;
    environment.heartbeat_fd = *fd;
  }
  environment.listener_fd =
      read.number(kListenerVariable, 0, kMostRanks).value_or(-1);
  return environment;
}

void read_master(const Reader& read, const std::string& default_host,
                 const std::string& job, LaunchEnvironment& environment) {
  environment.host = read.text("MASTER_ADDR").value_or(default_host);
  environment.port =
      read.number("MASTER_PORT", 1, 65535).value_or(derived_port(job));
}

LaunchEnvironment read_open_mpi(const Reader& read) {
  const std::string prefix = "OMPI_COMM_WORLD_";
  const Names names = {prefix + "RANK", prefix + "SIZE", prefix + "LOCAL_RANK",
                       prefix + "LOCAL_SIZE"};
  const std::string first = read.has(names.rank) ? names.rank : names.size;
  read.require(first, {names.rank, names.size});
  LaunchEnvironment environment;
  environment.launcher = Launcher::kOpenMpi;
  read_ranks(read, names, environment);
  if (!environment.single_host() && !read.has("MASTER_ADDR")) {
    fail_usage(
        "Open MPI started {} ranks, {} of them on this host, and does "
        "not say where rank 0 is; give mpirun -x MASTER_ADDR=HOST",
        environment.world_size, environment.local_world_size);
  }
  std::optional<std::string> job = read.text("PMIX_NAMESPACE");
  if (!job) job = read.text("OMPI_MCA_ess_base_jobid");
  if (!job && !read.has("MASTER_PORT")) {
    fail_usage(
        "Open MPI did not name its job (PMIX_NAMESPACE), so the ranks "
        "have no port in common; give mpirun -x MASTER_PORT=PORT");
  }
  read_master(read, "127.0.0.1", job.value_or(""), environment);
  return environment;
}

std::string slurm_host(const Reader& read) {
  if (read.text("SLURM_STEP_NUM_NODES")
          .value_or(read.text("SLURM_NNODES").value_or("")) == "1") {
    return "127.0.0.1";
  }
  std::optional<std::string> list = read.text("SLURM_STEP_NODELIST");
  if (!list) list = read.text("SLURM_JOB_NODELIST");
  const std::optional<std::string> launch =
      read.text("SLURM_LAUNCH_NODE_IPADDR");
  if (list) {
    const std::string host = first_host(*list);
    if (!launch || read.resolves(host)) return host;
  }
  if (launch) return *launch;
  fail_usage(
      "Slurm names no host (SLURM_STEP_NODELIST, SLURM_JOB_NODELIST); "
      "set MASTER_ADDR to the host of rank 0");
}

// Slurm writes "4(x2),3" for nodes of 4, 4 and 3 tasks. 0: it does not say.
int slurm_local_size(const Reader& read) {
  const std::string name = "SLURM_STEP_TASKS_PER_NODE";
  const std::string list = read.text(name).value_or("");
  const int node = read.number("SLURM_NODEID", 0, kMostRanks).value_or(0);
  int nodes = 0;
  for (const std::string& item : split(list, ',')) {
    int tasks = 0;
    int times = 1;
    const char* end = item.data() + item.size();
    const char* stop = std::from_chars(item.data(), end, tasks).ptr;
    if (std::string_view(stop, end).starts_with("(x")) {
      std::from_chars(stop + 2, end, times);
    }
    nodes += times;
    if (node < nodes) return tasks;
  }
  return 0;
}

LaunchEnvironment read_slurm(const Reader& read) {
  const std::string size = read.has("SLURM_STEP_NUM_TASKS")
                               ? "SLURM_STEP_NUM_TASKS"
                               : "SLURM_NTASKS";
  read.require("SLURM_PROCID", {size});
  LaunchEnvironment environment;
  environment.launcher = Launcher::kSlurm;
  read_ranks(read, {"SLURM_PROCID", size, "SLURM_LOCALID", ""}, environment);
  environment.local_world_size =
      std::min(slurm_local_size(read), environment.world_size);
  const std::string job = read.text("SLURM_JOB_ID").value_or("") + "." +
                          read.text("SLURM_STEP_ID").value_or("");
  const bool named = read.has("MASTER_ADDR");
  read_master(read, named ? "" : slurm_host(read), job, environment);
  if (environment.local_world_size == 0 && is_loopback(environment.host)) {
    environment.local_world_size = environment.world_size;
  }
  environment.restart =
      read.number("SLURM_RESTART_COUNT", 0, kMostRanks).value_or(0);
  return environment;
}

// Batch scripts have SLURM_PROCID too, but no step.
bool under_srun(const Reader& read) {
  return read.has("SLURM_PROCID") &&
         (read.has("SLURM_STEP_ID") || !read.has("SLURM_JOB_ID"));
}

}  // namespace

std::string_view name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::kNone:
      return "none";
    case Launcher::kMerak:
      return "merak";
    case Launcher::kTorchrun:
      return "torchrun";
    case Launcher::kOpenMpi:
      return "Open MPI";
    case Launcher::kSlurm:
      return "Slurm";
  }
  return "?";
}

EnvironmentSource process_environment() {
  EnvironmentSource source;
  source.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
  source.resolves = [](const std::string& host) {
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
    freeaddrinfo(found);
    return true;
  };
  return source;
}

LaunchEnvironment read_launch_environment(const EnvironmentSource& source) {
  const Reader read(source);
  if (read.has("RANK") || read.has("WORLD_SIZE")) return read_torchrun(read);
  if (read.has("OMPI_COMM_WORLD_RANK") || read.has("OMPI_COMM_WORLD_SIZE")) {
    return read_open_mpi(read);
  }
  if (under_srun(read)) return read_slurm(read);
  return {};
}

std::string first_host(std::string_view host_list) {
  std::string host;
  bool in_range = false;   // between '[' and ']'
  bool first_item = true;  // of the range: up to '-' or ','
  for (const char c : host_list) {
    if (c == ',' && !in_range) break;
    if (c == '[' && !in_range) {
      in_range = first_item = true;
    } else if (c == ']' && in_range) {
      in_range = false;
    } else if (in_range && (c == '-' || c == ',')) {
      first_item = false;
    } else if (!in_range || first_item) {
      host.push_back(c);
    }
  }
  if (host.empty() || in_range) {
    fail_usage("'{}' is no list of hosts as Slurm writes them (node[01-04],b)",
               host_list);
  }
  return host;
}

}  // namespace merak::dist
