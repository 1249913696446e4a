#include "merak/dist/launch/rank_watch.h"

#include <algorithm>

#include "merak/base/error.h"

namespace merak::dist {

namespace {

constexpr std::chrono::seconds kPause{2};

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

std::string where(const Progress& progress) {
  if (progress.step < 0) {
    if (progress.action.empty()) return " before its first step";
    return fmt::format(" before its first step, {}", progress.action);
  }
  std::string text = fmt::format(" at step {}", progress.step);
  if (progress.micro_batch >= 0) {
    text += fmt::format(", micro-batch {}", progress.micro_batch);
  }
  if (!progress.action.empty()) text += ", " + progress.action;
  return text;
}

RankWatch::RankWatch(int first, int count, const WatchOptions& options)
    : first_(first),
      options_(options),
      ranks_(static_cast<std::size_t>(count)) {}

RankWatch::Rank& RankWatch::at(int rank) {
  return ranks_.at(static_cast<std::size_t>(rank - first_));
}
const RankWatch::Rank& RankWatch::at(int rank) const {
  return ranks_.at(static_cast<std::size_t>(rank - first_));
}
const Progress& RankWatch::progress(int rank) const {
  return at(rank).progress;
}
const std::string& RankWatch::label(int rank) const { return at(rank).label; }

void RankWatch::hello(int rank, const std::string& label, TimePoint now) {
  Rank& state = at(rank);
  state.said_hello = true;
  state.label = label;
  state.heard = state.moved = now;
}

void RankWatch::beat(int rank, const Progress& progress, TimePoint now) {
  Rank& state = at(rank);
  state.heard = now;
  if (progress != state.progress) state.moved = now;
  state.progress = progress;
}

void RankWatch::alive(int rank, TimePoint now) {
  at(rank).heard = at(rank).moved = now;
}

void RankWatch::failed(int rank, bool because_of_peer,
                       const std::string& reason, TimePoint now) {
  suspect(at(rank), {because_of_peer ? Cause::kPeer : Cause::kOwn, now, 1,
                     "failed", ": " + reason});
}

void RankWatch::goodbye(int rank) { at(rank).ended = true; }

void RankWatch::disconnected(int rank, TimePoint now) {
  Rank& state = at(rank);
  if (state.ended) return;
  suspect(state, {Cause::kOwn, now, 1, "was lost (its process ended)", ""});
  state.ended = true;
}

void RankWatch::exited(int rank, int exit_code, int signal, TimePoint now) {
  Rank& state = at(rank);
  if (signal != 0) {
    suspect(state, {Cause::kOwn, now, 128 + signal,
                    fmt::format("was killed by signal {}", signal), ""});
  } else if (exit_code != 0) {
    suspect(state, {Cause::kUnexplained, now, exit_code,
                    fmt::format("exited with code {}", exit_code), ""});
  } else if (state.said_hello && !state.ended) {
    suspect(state, {Cause::kUnexplained, now, 1,
                    "exited with code 0 before the run was over", ""});
  }
  // The rank's own report says more than its exit does.
  if (state.suspicion && exit_code != 0) {
    state.suspicion->exit_code = exit_code;
  }
  state.ended = true;
}

void RankWatch::set_stopped(int rank, bool stopped, TimePoint now) {
  Rank& state = at(rank);
  if (!stopped) {
    state.stopped_since.reset();
  } else if (!state.stopped_since) {
    state.stopped_since = now;
  }
}

void RankWatch::suspect(Rank& rank, const Suspicion& suspicion) {
  if (!rank.suspicion) rank.suspicion = suspicion;
}

void RankWatch::forgive_pause(TimePoint now) {
  const TimePoint before = checked_.value_or(now);
  checked_ = now;
  if (now - before < kPause) return;
  const auto pause = now - before;
  for (Rank& rank : ranks_) {
    rank.heard = std::min(now, rank.heard + pause);
    rank.moved = std::min(now, rank.moved + pause);
    if (rank.stopped_since) *rank.stopped_since += pause;
  }
}

void RankWatch::look_for_silence(Rank& rank, TimePoint now) {
  if (rank.ended) return;
  if (rank.stopped_since && now - *rank.stopped_since >= options_.stopped) {
    suspect(rank, {Cause::kOwn, *rank.stopped_since, 1,
                   fmt::format("has been stopped (process state T) for "
                               "{:.0f} s",
                               seconds(now - *rank.stopped_since)),
                   ""});
  } else if (rank.said_hello && now - rank.heard >= options_.silence) {
    suspect(rank, {Cause::kOwn, rank.heard, 1,
                   fmt::format("has sent no heartbeat for {:.0f} s",
                               seconds(now - rank.heard)),
                   ""});
  }
}

// In a standstill everyone waits for the rank that stood still first.
void RankWatch::look_for_standstill(TimePoint now) {
  if (options_.no_progress.count() == 0) return;
  Rank* first = nullptr;
  for (Rank& rank : ranks_) {
    if (!rank.said_hello || rank.ended) continue;
    if (now - rank.moved < options_.no_progress) return;
    if (first == nullptr || rank.moved < first->moved) first = &rank;
  }
  if (first == nullptr) return;
  suspect(*first,
          {Cause::kOwn, first->moved, 1,
           fmt::format("has made no progress for {:.0f} s, nor has any other",
                       seconds(now - first->moved)),
           ""});
}

std::optional<Verdict> RankWatch::check(TimePoint now) {
  forgive_pause(now);
  for (Rank& rank : ranks_) look_for_silence(rank, now);
  look_for_standstill(now);
  const Rank* worst = nullptr;
  for (const Rank& rank : ranks_) {
    if (!rank.suspicion) continue;
    const auto key = [](const Rank& each) {
      return std::pair(each.suspicion->cause, each.suspicion->since);
    };
    if (worst == nullptr || key(rank) < key(*worst)) worst = &rank;
  }
  if (worst == nullptr) return std::nullopt;
  const Suspicion& suspicion = *worst->suspicion;
  const auto settle =
      suspicion.cause == Cause::kPeer ? options_.settle_peer : options_.settle;
  if (now - suspicion.since < settle) return std::nullopt;
  const int rank = first_ + static_cast<int>(worst - ranks_.data());
  return Verdict{rank, suspicion.exit_code, line_of(rank, suspicion)};
}

bool RankWatch::suspicious() const {
  return std::ranges::any_of(
      ranks_, [](const Rank& rank) { return rank.suspicion.has_value(); });
}

std::string RankWatch::line_of(int rank, const Suspicion& suspicion) const {
  const Rank& state = at(rank);
  const std::string place = state.said_hello ? where(state.progress) : "";
  return fmt::format("rank {}{}{} {}{}{}; ending the other ranks", rank,
                     state.label.empty() ? "" : " ", state.label,
                     suspicion.what, place, suspicion.details);
}

}  // namespace merak::dist
