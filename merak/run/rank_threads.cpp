#include "merak/run/rank_threads.h"

#include <thread>
#include <vector>

#include "merak/dist/thread.h"

namespace merak::run {

dist::Mesh mesh_of(const config::Layout& layout) {
  return {static_cast<int>(layout.pipeline), static_cast<int>(layout.data),
          static_cast<int>(layout.tensor)};
}

RankThreads::RankThreads(const config::Layout& layout)
    : mesh_(mesh_of(layout)), world_(mesh_.size()) {}

void RankThreads::run(const Body& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < mesh_.size(); ++rank) {
    threads.push_back(dist::start_thread([this, rank, &body] {
      const auto factory = world_.factory(rank);
      guard([&] { body(rank, *factory); });
    }));
  }
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void RankThreads::guard(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    world_.abort(error.what());
  }
}

}  // namespace merak::run
