#include "merak/trace/scope.h"

namespace merak::trace {
namespace {

std::string& path() {
  thread_local std::string path;
  return path;
}

}  // namespace

Scope::Scope(std::string_view name) : outer_size_(path().size()) {
  if (!path().empty()) path() += '.';
  path() += name;
}

Scope::~Scope() { path().resize(outer_size_); }

const std::string& current_scope() { return path(); }

}  // namespace merak::trace
