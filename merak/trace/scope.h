// Module paths while a model runs: a module of the zoo opens a Scope in its
// forward, and nodes recorded inside carry the path ("transformer.h.3.attn").
// Scopes are per thread and nest; without a recorder they cost a push and a
// pop.
#pragma once

#include <string>
#include <string_view>

namespace merak::trace {

class Scope {
 public:
  explicit Scope(std::string_view name);  // appended to the current path
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::size_t outer_size_;
};

// The path of this thread: names joined with dots, empty outside of any scope.
const std::string& current_scope();

}  // namespace merak::trace
