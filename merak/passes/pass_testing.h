// Text in, text out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "merak/base/error.h"
#include "merak/graph/text.h"
#include "merak/graph/verify.h"
#include "merak/passes/pass.h"

namespace merak::passes::testing {

struct Outcome {
  bool changed = false;
  std::string text;
};

// Runs the pass on the text, verifies the result, and checks that the pass
// tells the truth about having changed it.
inline Outcome run(PassFunction pass, std::string_view text,
                   const PassOptions& options = {}) {
  graph::Graph graph = graph::parse(text);
  const std::string before = print(graph);
  Outcome outcome;
  outcome.changed = pass(graph, options);
  graph::verify(graph);
  outcome.text = print(graph);
  EXPECT_EQ(outcome.changed, outcome.text != before);
  return outcome;
}

inline std::string normal_form(std::string_view text) {
  return print(graph::parse(text));
}

inline void expect_rewrite(PassFunction pass, std::string_view before,
                           std::string_view after,
                           const PassOptions& options = {}) {
  EXPECT_EQ(run(pass, before, options).text, normal_form(after));
}

inline std::string usage_failure(PassFunction pass, std::string_view text,
                                 const PassOptions& options = {}) {
  graph::Graph graph = graph::parse(text);
  try {
    pass(graph, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

}  // namespace merak::passes::testing
