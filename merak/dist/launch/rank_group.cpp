#include "merak/dist/launch/rank_group.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <utility>

#include "merak/base/error.h"
#include "merak/dist/launch/cores.h"
#include "merak/dist/launch/heartbeat_lines.h"
#include "merak/dist/launch/launch_variables.h"

namespace merak::dist {

namespace {

constexpr std::chrono::milliseconds kStatesEvery{500};

std::string setting(const char* name, const std::string& value) {
  return fmt::format("{}={}", name, value);
}
std::string setting(const char* name, long value) {
  return fmt::format("{}={}", name, value);
}

}  // namespace

std::vector<std::string> merged_environment(
    const std::vector<std::string>& settings) {
  std::map<std::string, std::string> by_name;
  const auto add = [&](const std::string& each) {
    const std::size_t equals = each.find('=');
    if (equals != std::string::npos) by_name[each.substr(0, equals)] = each;
  };
  for (char** each = environ; *each != nullptr; ++each) add(*each);
  by_name.erase(kHeartbeatVariable);
  by_name.erase(kListenerVariable);
  // An outer torchrun's agent hosts no store for our ranks.
  by_name.erase("TORCHELASTIC_USE_AGENT_STORE");
  for (const std::string& each : settings) add(each);
  std::vector<std::string> merged;
  for (auto& [name, text] : by_name) merged.push_back(std::move(text));
  return merged;
}

RankGroup::RankGroup(GroupRequest request)
    : watch_(request.first_rank, request.local_ranks, request.watch) {
  const std::vector<std::vector<int>> cores =
      assign_cores(allowed_cores(), request.local_ranks);
  members_.reserve(cores.size());
  for (int local = 0; local < request.local_ranks; ++local) {
    const std::vector<int>& mine = cores[static_cast<std::size_t>(local)];
    auto [ours, theirs] = socket_pair();
    ProcessRequest process;
    process.command = request.command;
    process.cores = mine;
    process.environment =
        environment_of(request, local, mine.size(), theirs.get());
    process.inherit = {theirs.get()};
    const int rank = request.first_rank + local;
    if (rank == 0 && request.listener.valid()) {
      process.inherit.push_back(request.listener.get());
    }
    members_.push_back(
        {rank, RankProcess(process), LineSocket(std::move(ours))});
  }
}

std::vector<std::string> RankGroup::environment_of(const GroupRequest& request,
                                                   int local_rank,
                                                   std::size_t threads,
                                                   int heartbeat_fd) const {
  const int rank = request.first_rank + local_rank;
  std::vector<std::string> settings = request.environment;
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    settings.push_back(setting("OMP_NUM_THREADS", static_cast<long>(threads)));
  }
  settings.push_back(setting("RANK", rank));
  settings.push_back(setting("WORLD_SIZE", request.world_size));
  settings.push_back(setting("LOCAL_RANK", local_rank));
  settings.push_back(setting("LOCAL_WORLD_SIZE", request.local_ranks));
  settings.push_back(setting("GROUP_RANK", request.node_rank));
  settings.push_back(setting("MASTER_ADDR", request.host));
  settings.push_back(setting("MASTER_PORT", request.port));
  settings.push_back(setting("TORCHELASTIC_RESTART_COUNT", request.restart));
  settings.push_back(
      setting("TORCHELASTIC_MAX_RESTARTS", request.max_restarts));
  settings.push_back(setting(kHeartbeatVariable, heartbeat_fd));
  if (rank == 0 && request.listener.valid()) {
    settings.push_back(setting(kListenerVariable, request.listener.get()));
  }
  return merged_environment(settings);
}

void RankGroup::add_to_poll(std::vector<pollfd>& entries) const {
  for (const Member& member : members_) {
    if (member.socket.open()) entries.push_back(member.socket.poll_entry());
  }
}

void RankGroup::read(Member& member, TimePoint now) {
  for (const std::string& text : member.socket.read_lines()) {
    Line line = parse_line(text);
    if (line.word == "hello") {
      take_word(line.rest);  // rank, process and token: the socket says it all
      take_word(line.rest);
      take_word(line.rest);
      member.listens = true;
      watch_.hello(member.rank, std::string(line.rest), now);
    } else {
      apply_line(watch_, member.rank, line, now);
    }
  }
}

void RankGroup::service(TimePoint now) {
  const bool states = now - looked_at_states_ >= kStatesEvery;
  if (states) looked_at_states_ = now;
  for (Member& member : members_) {
    if (member.accounted) continue;
    // The exit first: what was sent before it can still be read then.
    const std::optional<ExitStatus> status = member.process.poll();
    read(member, now);
    if (status) {
      member.accounted = true;
      watch_.exited(member.rank, status->code, status->signal, now);
      const int code =
          status->signal != 0 ? 128 + status->signal : status->code;
      if (exit_code_ == 0) exit_code_ = code;
    } else if (states) {
      const RankProcess::State state = member.process.state();
      if (state == RankProcess::State::kTraced) watch_.alive(member.rank, now);
      watch_.set_stopped(member.rank, state == RankProcess::State::kStopped,
                         now);
    }
  }
}

bool RankGroup::running() const {
  for (const Member& member : members_) {
    if (!member.accounted) return true;
  }
  return false;
}

void RankGroup::forward(int signal) const {
  for (const Member& member : members_) member.process.send(signal);
}

void RankGroup::end(const std::string& line, std::chrono::milliseconds grace) {
  using State = RankProcess::State;
  const TimePoint begin = std::chrono::steady_clock::now();
  for (Member& member : members_) {
    if (!member.process.running()) continue;
    member.socket.send("end " + line);
    if (member.process.state() == State::kStopped) {
      member.process.send(SIGKILL);
    } else if (!member.listens) {
      member.process.send(SIGTERM);
    }
  }
  bool asked = false;
  while (running()) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (!asked && now - begin >= grace / 3) {
      forward(SIGTERM);
      asked = true;
    }
    if (now - begin >= grace) forward(SIGKILL);
    std::vector<pollfd> entries;
    add_to_poll(entries);
    // A rank's end closes its socket; the time-out is for those that closed it
    // before.
    poll(entries.data(), entries.size(), 50);
    service(now);
  }
}

}  // namespace merak::dist
