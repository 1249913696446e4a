#include "merak/base/str.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace merak {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string folded(std::string_view name) {
  std::string result(name);
  for (char& c : result) c = c == '-' ? '_' : lower(c);
  return result;
}

// The number of bytes that a unit such as "GiB", "gb" or "k" stands for.
std::optional<double> unit_size(std::string_view unit) {
  const std::string text = folded(unit);
  if (text.empty() || text == "b") return 1;
  constexpr std::string_view kPrefixes = "kmgtp";
  const auto power = kPrefixes.find(text[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string rest = text.substr(1);
  if (!rest.empty() && rest != "b" && rest != "ib") return std::nullopt;
  const double base = rest == "b" ? 1000 : 1024;
  return std::pow(base, static_cast<double>(power + 1));
}

}  // namespace

std::string join(std::span<const std::string> parts,
                 std::string_view separator) {
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result += separator;
    result += parts[i];
  }
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0 of the unit below.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::string_view trimmed = trim(text);
  double value = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value,
                      std::chars_format::fixed);
  if (error != std::errc() || std::signbit(value)) return std::nullopt;
  const auto used = static_cast<std::size_t>(end - trimmed.data());
  const auto unit = unit_size(trim(trimmed.substr(used)));
  if (!unit) return std::nullopt;
  const double bytes = std::round(value * *unit);
  if (!(bytes < 18446744073709551616.0)) return std::nullopt;  // 2^64, nan, inf
  return static_cast<std::uint64_t>(bytes);
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e10) return "?";
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  const auto total = std::llround(seconds);
  const auto minutes = total / 60;
  const auto hours = minutes / 60;
  if (minutes == 0) return fmt::format("{}s", total);
  if (hours == 0) return fmt::format("{}m{:02}s", minutes, total % 60);
  if (hours < 48) return fmt::format("{}h{:02}m", hours, minutes % 60);
  return fmt::format("{}d{:02}h", hours / 24, hours % 24);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: a swap looks two rows back.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view name,
                                   std::span<const std::string> candidates) {
  const std::string typed = folded(name);
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(typed, folded(candidate));
    const std::size_t letters = std::max(typed.size(), candidate.size());
    if (3 * distance > letters) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace merak
