#include "merak/cli/findings.h"

#include <fmt/core.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "merak/base/error.h"
#include "merak/base/str.h"
#include "merak/dist/launch/cores.h"
#include "merak/dist/launch/launch_environment.h"

namespace merak::cli {
namespace {

namespace fs = std::filesystem;

// Below this a small GPT-2 with its optimizer state and checkpoints is tight.
constexpr std::uint64_t kLittle = std::uint64_t{1} << 30;
// Sockets of a full mesh of a few dozen ranks, libraries, data files.
constexpr rlim_t kFewFiles = 1024;

std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

// A field of /proc/meminfo, in bytes.
std::optional<std::uint64_t> memory_field(std::string_view name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto value = trim(std::string_view(line).substr(name.size() + 1));
    return parse_bytes(value);  // "16384 kB": the kernel's kB is 1024
  }
  return std::nullopt;
}

bool is_program(const std::string& name, const std::string& path) {
  return std::ranges::any_of(split(path, ':'), [&](const auto& folder) {
    return ::access((fs::path(folder) / name).c_str(), X_OK) == 0;
  });
}

Finding find_versions() {
  const std::string torch = MERAK_TORCH_VERSION;
  return {"versions", Status::kOk,
          fmt::format("Merak {}, LibTorch {}, built with g++ {}", MERAK_VERSION,
                      torch.empty() ? "none" : torch, __VERSION__),
          ""};
}

// The processors that a container's quota is worth, if it has one.
std::optional<double> cpu_quota() {
  const auto line = first_line("/sys/fs/cgroup/cpu.max");  // "150000 100000"
  if (!line) return std::nullopt;
  const auto words = split(*line, ' ');
  if (words.size() != 2 || words[0] == "max") return std::nullopt;
  return std::atof(words[0].c_str()) / std::atof(words[1].c_str());
}

}  // namespace

std::string name_of(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kNote:
      return "note";
    case Status::kMissing:
      return "missing";
  }
  return "";
}

Variables process_variables() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

Finding find_build_tools(const Variables& variables) {
  const std::string path = variables("PATH").value_or("");
  std::vector<std::string> found;
  std::vector<std::string> absent;
  for (const char* name : {"c++", "cmake", "ninja"}) {
    (is_program(name, path) ? found : absent).emplace_back(name);
  }
  if (absent.empty()) return {"build", Status::kOk, join(found, ", "), ""};
  return {"build", Status::kNote, "not in PATH: " + join(absent, ", "),
          "only to build Merak or programs with it: `make` in the source "
          "folder installs them, or apt-get install g++ cmake ninja-build"};
}

Finding find_cores() {
  const auto usable = dist::allowed_cores().size();
  const long all = ::sysconf(_SC_NPROCESSORS_ONLN);
  Finding finding{"cores", Status::kOk,
                  fmt::format("{} usable of {}", usable, all), ""};
  const auto quota = cpu_quota();
  if (quota && *quota < static_cast<double>(usable)) {
    finding.status = Status::kNote;
    finding.value += fmt::format(", a quota worth {:.1f}", *quota);
    finding.remedy = fmt::format(
        "the container may use less than its cores: start --ranks {}, or raise "
        "the quota",
        std::max(1, static_cast<int>(std::floor(*quota))));
  }
  return finding;
}

Finding find_threads(const Variables& variables, int cores) {
  const auto set = variables("OMP_NUM_THREADS");
  if (!set || set->empty()) {
    return {"threads", Status::kOk,
            "OMP_NUM_THREADS is not set: each rank gets cores / ranks", ""};
  }
  const std::string value = "OMP_NUM_THREADS=" + *set;
  int threads = 0;
  // OpenMP allows a list for nested levels: the first counts.
  const std::string first = split(*set, ',')[0];
  const char* end = first.data() + first.size();
  const auto parsed = std::from_chars(first.data(), end, threads);
  if (parsed.ec != std::errc() || parsed.ptr != end || threads < 1) {
    return {"threads", Status::kMissing, value,
            "it must be a number from 1: unset OMP_NUM_THREADS"};
  }
  if (threads > cores) {
    return {"threads", Status::kNote, value,
            fmt::format("more threads a rank than the {} cores are slow: unset "
                        "OMP_NUM_THREADS",
                        cores)};
  }
  return {"threads", Status::kOk, value + " for each rank", ""};
}

Finding find_memory() {
  const auto total = memory_field("MemTotal");
  const auto available = memory_field("MemAvailable");
  if (!total || !available) {
    return {"memory", Status::kNote, "unknown: /proc/meminfo is not readable",
            "mount /proc"};
  }
  Finding finding{"memory", Status::kOk,
                  fmt::format("{} free of {}", human_bytes(*available),
                              human_bytes(*total)),
                  ""};
  std::uint64_t usable = *available;
  const auto limit_text = first_line("/sys/fs/cgroup/memory.max");
  const auto limit = limit_text ? parse_bytes(*limit_text) : std::nullopt;
  if (limit && *limit < *total) {
    finding.value += fmt::format(", limited to {}", human_bytes(*limit));
    usable = std::min(usable, *limit);
  }
  if (usable < kLittle) {
    finding.status = Status::kNote;
    finding.remedy =
        "little for training: end other programs, or take a "
        "smaller model or micro-batch";
  }
  return finding;
}

Finding find_disk(const fs::path& dir) {
  std::error_code error;
  fs::path existing = fs::absolute(dir, error).lexically_normal();
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  const fs::space_info space = fs::space(existing, error);
  const std::string place = existing.string();
  if (error || !fs::is_directory(existing)) {
    return {"disk", Status::kMissing, place + " is not a folder",
            "choose another run.dir"};
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0) {
    return {"disk", Status::kMissing, place + " is not writable",
            "choose another run.dir, or chown it"};
  }
  const std::string value =
      fmt::format("{} free in {}", human_bytes(space.available), place);
  if (space.available >= kLittle) return {"disk", Status::kOk, value, ""};
  return {"disk", Status::kNote, value,
          "little for checkpoints: lower checkpoint.keep, or set run.dir"};
}

Finding find_open_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {"open files", Status::kNote, "limit unknown", "ulimit -n 65536"};
  }
  const std::string value = limit.rlim_cur == RLIM_INFINITY
                                ? "no limit"
                                : fmt::format("at most {}", limit.rlim_cur);
  if (limit.rlim_cur >= kFewFiles)
    return {"open files", Status::kOk, value, ""};
  return {"open files", Status::kNote, value,
          "few for many ranks: ulimit -n 65536"};
}

Finding find_network(const Variables& variables) {
  const auto interface = variables("GLOO_SOCKET_IFNAME");
  if (interface && !interface->empty()) {
    const std::string value = "Gloo over " + *interface;
    if (::if_nametoindex(interface->c_str()) != 0) {
      return {"network", Status::kOk, value, ""};
    }
    return {"network", Status::kMissing, value + ", which is not there",
            "export GLOO_SOCKET_IFNAME=... one of `ip -br link`, or unset it"};
  }
  std::array<char, 256> host{};
  addrinfo* addresses = nullptr;
  if (::gethostname(host.data(), host.size() - 1) == 0 &&
      ::getaddrinfo(host.data(), nullptr, nullptr, &addresses) == 0) {
    ::freeaddrinfo(addresses);
    return {"network", Status::kOk,
            fmt::format("Gloo over the address of {}", host.data()), ""};
  }
  return {"network", Status::kNote,
          fmt::format("the host's name, {}, does not resolve", host.data()),
          "for several hosts: export GLOO_SOCKET_IFNAME=... (`ip -br link`), "
          "or add the name to /etc/hosts"};
}

Finding find_launcher(const Variables& variables) {
  dist::EnvironmentSource source = dist::process_environment();
  source.variable = variables;
  try {
    const auto found = dist::read_launch_environment(source);
    if (found.launcher == dist::Launcher::kNone) {
      return {"launcher", Status::kOk,
              "none: merak train starts local ranks itself", ""};
    }
    return {"launcher", Status::kOk,
            fmt::format("{}: rank {} of {}, rendezvous {}:{}",
                        dist::name_of(found.launcher), found.rank,
                        found.world_size, found.host, found.port),
            ""};
  } catch (const Error& error) {
    return {"launcher", Status::kMissing, error.what(),
            "unset these variables, or start with torchrun, srun, mpirun or "
            "merak launch"};
  }
}

std::vector<Finding> find_all(const Variables& variables, const fs::path& dir) {
  const auto cores = static_cast<int>(dist::allowed_cores().size());
  return {find_versions(),
          find_build_tools(variables),
          find_cores(),
          find_threads(variables, cores),
          find_memory(),
          find_disk(dir),
          find_open_files(),
          find_network(variables),
          find_launcher(variables)};
}

}  // namespace merak::cli
