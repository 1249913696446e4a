#include "merak/dist/launch/heartbeat_lines.h"

#include <fmt/core.h>

#include <charconv>

namespace merak::dist {

std::string_view take_word(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  return word;
}

std::optional<std::int64_t> take_number(std::string_view& rest) {
  const std::string_view word = take_word(rest);
  std::int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || stop != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

Line parse_line(std::string_view text) {
  Line line;
  line.word = take_word(text);
  line.rest = text;
  return line;
}

std::string to_text(const Progress& progress) {
  return fmt::format("{} {} {} {}", progress.sequence, progress.step,
                     progress.micro_batch, progress.action);
}

std::optional<Progress> parse_progress(std::string_view text) {
  const auto sequence = take_number(text);
  const auto step = take_number(text);
  const auto micro_batch = take_number(text);
  if (!sequence || !step || !micro_batch) return std::nullopt;
  return Progress{*sequence, *step, *micro_batch, std::string(text)};
}

bool apply_line(RankWatch& watch, int rank, const Line& line, TimePoint now) {
  if (line.word == "beat") {
    const std::optional<Progress> progress = parse_progress(line.rest);
    if (progress) watch.beat(rank, *progress, now);
    return progress.has_value();
  }
  if (line.word == "fail") {
    std::string_view rest = line.rest;
    const bool because_of_peer = take_word(rest) == "peer";
    watch.failed(rank, because_of_peer, std::string(rest), now);
    return true;
  }
  if (line.word == "bye") watch.goodbye(rank);
  return line.word == "bye";
}

}  // namespace merak::dist
