#include "merak/dist/store.h"

#include <gmock/gmock.h>

#include <mutex>
#include <thread>
#include <vector>

#include "merak/base/error.h"

namespace merak::dist {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// What each of these ranks got from the barrier: "" or the error.
std::vector<std::string> barrier(const std::vector<int>& ranks, int world,
                                 milliseconds timeout, Store& store) {
  std::vector<std::string> outcome(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        start_barrier(store, ranks[i], world, timeout);
      } catch (const Error& error) {
        outcome[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

TEST(StartBarrier, LetsAllThrough) {
  InProcessStore store;
  EXPECT_THAT(barrier({0, 1, 2, 3}, 4, milliseconds(60000), store),
              testing::Each(""));
}

TEST(StartBarrier, NamesTheMissingToEveryone) {
  InProcessStore store;
  const auto outcome = barrier({0, 1, 3, 4, 6, 7}, 8, milliseconds(300), store);
  for (const std::string& each : outcome) {
    EXPECT_THAT(each, HasSubstr("waited 0.3 s for ranks 2, 5 of 8"));
  }
  // One that comes too late, when the others have given up.
  EXPECT_THAT(barrier({2}, 8, milliseconds(60000), store)[0],
              HasSubstr("ranks 2, 5 of 8"));
}

TEST(StartBarrier, NamesOneMissingRank) {
  InProcessStore store;
  EXPECT_THAT(barrier({1}, 2, milliseconds(50), store)[0],
              HasSubstr("for rank 0 of 2"));
}

TEST(InProcessStore, CountsAndKeepsTheFirst) {
  InProcessStore store;
  EXPECT_EQ(store.add("n", 2), 2);
  EXPECT_EQ(store.add("n", -5), -3);
  EXPECT_EQ(store.set_once("k", "first"), "first");
  EXPECT_EQ(store.set_once("k", "second"), "first");
  store.set("k", "third");
  EXPECT_EQ(store.wait("k", milliseconds(0)), "third");
  EXPECT_EQ(store.wait("absent", milliseconds(10)), std::nullopt);
  EXPECT_FALSE(store.has("absent"));
}

}  // namespace
}  // namespace merak::dist
