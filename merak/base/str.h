// Text for people: lists, sizes, durations, and the name they meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace merak {

// join({"a", "b"}, ", ") is "a, b".
std::string join(std::span<const std::string> parts,
                 std::string_view separator);

// The parts between separators, empty ones included: split("a,,b", ',') has 3.
std::vector<std::string> split(std::string_view text, char separator);

std::string_view trim(std::string_view text);  // spaces, tabs, line ends

// "512 B", "1.5 GiB": binary units, one decimal, at most 6 characters before
// the unit.
std::string human_bytes(std::uint64_t bytes);

// The reverse: "8GiB", "8 GiB", "1.5 GB", "4096", "64k". K, M, G, T are binary
// (as in KiB); KB, MB, GB, TB are powers of 1000. Upper or lower case.
// Nothing for anything else, or when it does not fit in 64 bits.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// "0.8s", "42s", "3m07s", "5h02m", "12d03h"; "?" for what is not a time.
std::string human_duration(double seconds);

// Insertions, deletions, replacements and swaps of neighbours that turn one
// into the other (restricted Damerau-Levenshtein; a swap costs one).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that a user who typed `name` most likely meant: the nearest by
// edit distance, case and '-' against '_' not counted, the first of equals.
// Nothing if none is near: more than a third of the letters would have to
// change.
std::optional<std::string> nearest(std::string_view name,
                                   std::span<const std::string> candidates);

}  // namespace merak
