// The ranks of a layout as threads of this process: messages are copies, and
// the numbers are those of real processes.
#pragma once

#include <exception>
#include <functional>
#include <mutex>

#include "merak/config/layout.h"
#include "merak/dist/communicator.h"
#include "merak/dist/in_process.h"
#include "merak/dist/mesh.h"

namespace merak::run {

dist::Mesh mesh_of(const config::Layout& layout);

class RankThreads {
 public:
  explicit RankThreads(const config::Layout& layout);

  const dist::Mesh& mesh() const { return mesh_; }

  // `body` runs on every rank's thread, guarded. Returns when all have ended;
  // throws then what the first failing rank threw.
  using Body = std::function<void(int rank, dist::GroupFactory& factory)>;
  void run(const Body& body);

  // What fails inside ends the other ranks at once. Needed around code that
  // uses objects whose destructors wait for other ranks: they lie outside.
  void guard(const std::function<void()>& body);

 private:
  dist::Mesh mesh_;
  dist::InProcessWorld world_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace merak::run
