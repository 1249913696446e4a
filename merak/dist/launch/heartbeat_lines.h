// The lines of the heartbeat protocol, written and read (heartbeat.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "merak/dist/launch/rank_watch.h"

namespace merak::dist {

// "beat 12 3 1 forward of stage 0" is {"beat", "12 3 1 forward of stage 0"}.
struct Line {
  std::string_view word;
  std::string_view rest;
};
Line parse_line(std::string_view text);

// The next word of `rest`, taken off it.
std::string_view take_word(std::string_view& rest);
std::optional<std::int64_t> take_number(std::string_view& rest);

std::string to_text(const Progress& progress);
std::optional<Progress> parse_progress(std::string_view text);

// Feeds "beat", "fail" and "bye" to the watch. False: no such line.
bool apply_line(RankWatch& watch, int rank, const Line& line, TimePoint now);

}  // namespace merak::dist
