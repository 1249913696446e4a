// From Oniguruma's Ruby syntax, which tokenizer.json files are written for, to
// PCRE2 with UTF and UCP.
#pragma once

#include <string>
#include <string_view>

namespace merak::data {

// Rewrites what the two read differently:
//   \s       White_Space (PCRE2's adds U+180E)
//   \w       Alphabetic, marks, decimal digits, connectors
//   \h       a hexadecimal digit (in PCRE2 horizontal space)
//   \uHHHH   a code point
//   x{1,3}+  the interval repeated (in PCRE2 possessive): x+
// and refuses, as a usage error that starts with `where`, what has no short
// equivalent: nested classes, class intersections, \b, (?m), x{2,3}+, and \S,
// \W or \H inside a class unless it is [\s\S] or [\w\W].
std::string pcre2_from_oniguruma(std::string_view pattern,
                                 const std::string& where);

}  // namespace merak::data
